"""The demo's last step: a SparkSink writes the flights to a Parquet table, and Spark SQL says who was late.

The topic holds lines of text; the connector's ``sql`` makes typed columns of them on their way to the table.
"""

from __future__ import annotations

from rich.table import Table

from penstock.demo import chart, connectors, flights
from penstock.demo.chart import Carrier
from penstock.demo.flights import DemoError
from penstock.demo.spark_sql import ask
from penstock.demo.stage import DemoStage
from penstock.embedded import jars
from penstock.spark.versions import release

QUESTION = """
    SELECT carrier, count(*) AS flights, count(arr_delay) AS arrived, avg(arr_delay) AS delay
    FROM flights GROUP BY carrier ORDER BY delay DESC
"""


def show_delays(stage: DemoStage) -> None:
    """Raises DemoError unless every flight is in the table once."""
    # Here, where it can be seen: what the sink's query needs, if this is the first time.
    jars(release().kafka)
    stage.client.create(connectors.TABLE, connectors.table(stage.table))
    stage.say(f"[bold]Created[/] POST {stage.client.url}/connectors: {connectors.TABLE}, a query of Spark's")
    ends = {partition: end for (_, partition), end in stage.client.committed(connectors.SINK).items()}
    stage.wait("The commit of all records by the query", lambda: _written(stage, ends))
    rows = ask(QUESTION, flights=str(stage.table))
    sent = stage.source_file.read_bytes().count(b"\n")
    if (written := sum(row["flights"] for row in rows)) != sent:
        raise DemoError(f"{stage.table} has {written:,} flights, not {sent:,}.")
    names = flights.airlines()
    carriers = [Carrier(names[row["carrier"]], row["arrived"], row["delay"]) for row in rows if row["arrived"]]
    stage.console.print(_table(carriers))
    stage.picture.write_text(chart.svg(carriers), "utf-8")
    stage.say(f"[bold]Picture[/] {stage.picture}")


def _written(stage: DemoStage, ends: dict[int, int]) -> bool:
    for task in stage.tasks(connectors.TABLE):
        if task["state"] == "FAILED":
            raise DemoError(f"{connectors.TABLE} has failed: {task['trace'].splitlines()[0]}")
    return stage.has_read_all(connectors.TABLE, ends)


def _table(carriers: list[Carrier]) -> Table:
    table = Table("carrier", title="Mean delay at arrival, by Spark SQL from the Parquet table", title_justify="left")
    table.add_column("flights", justify="right")
    table.add_column("minutes", justify="right")
    for each in carriers:
        table.add_row(each.name, f"{each.flights:,}", f"{each.delay:+.1f}")
    return table
