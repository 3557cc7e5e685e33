"""``python -m bench``, for ``make bench``: the same connectors here and on Java Connect, in turn, on one broker."""

from __future__ import annotations

import datetime as dt
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from bench import beside_debezium, comparing, database, doubling, profiling, report
from bench.cases import BESIDE, CASES, OF_JARS, PROGRAMS
from bench.connect import OURS, CaseError, Connect
from bench.javas import described
from bench.setting import Setting
from bench.workers import Workers
from penstock.embedded import Broker
from support.postgres import binaries
from support.worker_process import SPARKS_JAVA, WorkerProcess

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

MORE = ("doubling", "profile")
"""Measurements of Penstock alone, in separate tables."""


@app.command()
def run(
    cases: Annotated[
        list[str] | None, typer.Argument(help=f"Cases to measure, of {', '.join((*CASES, *MORE))}. Default: all.")
    ] = None,
    java_url: Annotated[str, typer.Option(help="URL of Java Connect on the same broker, for comparison.")] = "",
    bootstrap: Annotated[str, typer.Option(help="Address of a running broker; by default one is started.")] = "",
    records: Annotated[int, typer.Option(min=1)] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="Number of measured rounds, after one to warm up.")] = 3,
    write: Annotated[Path | None, typer.Option(help="Folder in which performance.* keep all figures.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure nothing, and write the tables of --write again.")
    ] = False,
) -> None:
    """Measure, compare the delivered records, and print the figures."""
    names = [] if again else list(cases or (*CASES, *MORE))
    for name in ("jar-snapshot", *database.CASES, *beside_debezium.CASES):
        if not cases and name in names and binaries() is None:
            print(f"{name} is left out: there is no PostgreSQL on this machine", flush=True)
            names.remove(name)
    if unknown := set(names) - {*CASES, *MORE}:
        raise typer.BadParameter(f"There is no case {', '.join(sorted(unknown))}.")
    if java_url and not bootstrap:
        raise typer.BadParameter("--java-url needs --bootstrap, the broker that both are to use.")
    found = _measure(names, java_url, bootstrap, records, rounds) if names else {}
    report.show(found)
    if write is not None:
        report.write(write, found)


def _measure(names: list[str], java_url: str, bootstrap: str, records: int, rounds: int) -> report.Found:
    found: report.Found = {part: [] for part in report.PARTS}
    so_many = f"{records:,} records"
    times = f"{rounds} round{'s' if rounds > 1 else ''}"
    with _stage(bootstrap) as stage:
        bootstrap, folder = stage.bootstrap, stage.folder
        java = Connect("java", java_url) if java_url else None
        compared = (described(java),) if java else ()
        with Setting(bootstrap, folder, records) as setting:
            for case in names:
                if case in CASES and case not in OF_JARS:
                    about = _about(so_many, times, *(() if case in (*PROGRAMS, *BESIDE) else compared))
                    found["figures"] += comparing.run(case, setting, stage.ours, java, rounds, about)
            with Workers(bootstrap, folder) as workers:
                for case in names:
                    if case in OF_JARS:
                        pair = workers.of(case)
                        about = _about(so_many, times, *(() if pair[1] is None else (described(pair[1]),)))
                        found["figures"] += comparing.run(case, setting, *pair, rounds, about)
            about = _about(so_many, times)
            found["processors"] = [replace(use, about=about) for use in setting.uses.values()]
            if "profile" in names:
                found["profile"] = [profiling.run(case, setting, _about(so_many)) for case in profiling.PATHS]
        if "doubling" in names:
            found["doubling"] = list(doubling.run(stage.ours, bootstrap, folder, records, _about()))
    return found


@dataclass
class _Stage:
    bootstrap: str
    folder: Path
    ends: ExitStack

    @cached_property
    def ours(self) -> Connect:
        """Penstock's worker, started at its first use."""
        worker = WorkerProcess(self.bootstrap, self.folder, **{SPARKS_JAVA: ""})
        self.ends.callback(_delete_topics, worker)
        self.ends.enter_context(worker)
        return Connect(OURS, str(worker.http.base_url))


@contextmanager
def _stage(bootstrap: str) -> Iterator[_Stage]:
    """Start a broker if none is given, and make a folder."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        folder.chmod(0o777)  # Java's worker may run as another user
        yield _Stage(bootstrap or stack.enter_context(Broker(lasting=True)).bootstrap, folder, stack)


def _delete_topics(worker: WorkerProcess) -> None:
    """Delete the worker's internal topics, since the broker may be used by others."""
    topics = [worker.settings[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")]
    admin = AdminClient({"bootstrap.servers": worker.settings["bootstrap.servers"]})
    for each in admin.delete_topics(topics).values():
        with suppress(KafkaException):  # the worker may have ended before it created them
            each.result()


def _about(*facts: str) -> str:
    machine = (f"{os.cpu_count()} cores", platform.machine(), f"Python {platform.python_version()}")
    return ", ".join((dt.datetime.now(dt.UTC).date().isoformat(), *facts, *machine))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # like Ctrl-C, so that nothing is left running
    try:
        app()
    except CaseError as error:
        raise SystemExit(f"bench: {error}") from None
