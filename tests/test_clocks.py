"""Waits are measured by the monotonic clock. The time of day is only for times that are shown, stored, or sent."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "penstock"
TIME_OF_DAY = re.compile(
    r"\btime\.time(_ns)?\b|\bdatetime\.(now|utcnow|today)\(|\bdate\.today\(|\bfrom time import .*\btime\b"
)

USES = {
    "connectors/file_source.py": "timestamps of records",
    "connectors/jdbc/dialects/mysql.py": "the present offset of a zone, as a session of the database needs it",
    "connectors/mirror/checkpoint/task.py": "timestamps of records",
    "connectors/mirror/heartbeat.py": "timestamps of records",
    "connectors/postgres/task.py": "timestamps in envelopes",
    "connectors/singer/runs.py": "timestamps of records",
    "hosts/jvm/process.py": "ages of files that other processes have left",
    "http/access/audit.py": "the time of a line of the log",
    "http/access/authentication/forwarded.py": "signatures of other workers, within two minutes",
    "http/access/response_headers.py": "the header Date",
    "java/dates/reader.py": "the century of a year with two digits",
    "kafka/security/clouds.py": "claims of tokens",
    "kafka/security/oauth.py": "claims of tokens, and the end that a cloud says",
    "observe.py": "shown by REST",
    "pipeline/errors.py": "a metric",
    "pipeline/metrics.py": "a metric",
    "pipeline/retry_status.py": "shown in the status",
    "pipeline/sink/figures.py": "a metric: the age of a record",
    "pipeline/source/loop.py": "a metric",
    "pipeline/telemetry/spans.py": "times of spans",
    "spark/query/sink/batches.py": "a metric: the age of a record",
    "spark/query/sink/retries.py": "shown in the status",
    "spark/query/trigger_clock.py": "whether it was set back: Spark waits by it",
    "spark/run/task_link.py": "shown by REST",
    "spark/tls.py": "the validity of a certificate",
    "wire/lines.py": "the time of a line of the log",
    "worker/loop.py": "read once, then counted on by a clock that nobody sets",
    "worker/monitoring/attention.py": "shown by REST",
    "worker/monitoring/credentials.py": "the validity of certificates",
    "worker/monitoring/executors.py": "shown by REST",
    "worker/monitoring/history.py": "times of events",
    "worker/monitoring/ignored_settings.py": "shown by REST",
    "worker/monitoring/lineage/sender.py": "times of events",
    "worker/monitoring/log_lines.py": "read once: where the numbers of lines begin",
    "worker/monitoring/refused_records.py": "shown by REST",
    "worker/monitoring/sink_progress.py": "shown by REST",
    "worker/monitoring/task_health.py": "shown by REST",
    "worker/monitoring/otlp_metrics.py": "times of metrics",
    "worker/monitoring/trends.py": "read once, then counted on by a clock that nobody sets",
}


def test_the_time_of_day_is_read_only_where_it_is_meant() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if TIME_OF_DAY.search(path.read_text())}
    assert found == USES.keys()
