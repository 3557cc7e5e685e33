"""Settings of a single-node broker, and the reason in its log when it can't start. Pure text, no process.

A combined KRaft node (KIP-833): broker and controller in one JVM. Replication factors are 1 and a rebalance starts at
once, since there are no other brokers or members to wait for; everything else is Kafka's default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

LOGGING = """\
<Configuration status="ERROR">
  <Appenders>
    <RollingFile name="log" fileName="{log}" filePattern="{log}.%i">
      <PatternLayout pattern="[%d] %p %m (%c)%n"/>
      <SizeBasedTriggeringPolicy size="20 MB"/>
      <DefaultRolloverStrategy max="2"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
    <Logger name="kafka.request.logger" level="WARN"/>
    <Root level="INFO"><AppenderRef ref="log"/></Root>
  </Loggers>
</Configuration>
"""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_APPENDED = ("listeners", "advertised.listeners", "listener.security.protocol.map")


def server_properties(data: Path, port: int, controller_port: int, extra: Mapping[str, str]) -> dict[str, str]:
    """The broker's settings. ``extra`` wins, except for the three that list listeners: there it is added to ours.

    With ``process.roles=broker`` in ``extra`` it is a further broker of a cluster whose controller ``extra`` names;
    with ``process.roles=controller`` a controller alone, on ``port``.
    """
    here = "127.0.0.1"
    settings = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://{here}:{port},CONTROLLER://{here}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{here}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{here}:{controller_port}",
        "log.dirs": str(data),
        "num.partitions": "1",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
    }
    match extra.get("process.roles"):
        case "broker":
            settings["listeners"] = f"PLAINTEXT://{here}:{port}"
        case "controller":
            settings |= {"listeners": f"CONTROLLER://{here}:{port}", "controller.quorum.voters": f"1@{here}:{port}"}
            del settings["advertised.listeners"], settings["inter.broker.listener.name"]
    added = {key: f"{settings[key]},{value}" for key, value in extra.items() if key in _APPENDED}
    return {**settings, **extra, **added}


def properties_text(settings: Mapping[str, str]) -> str:
    """A ``.properties`` file, of ASCII alone, since Java reads it as Latin-1; all characters of values survive."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in settings.items()}
    return _NOT_ASCII.sub(_code_units, "".join(f"{key}={value}\n" for key, value in escaped.items()))


def _code_units(found: re.Match[str]) -> str:
    """Characters beyond 16 bits are two."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def explanation(log: str, directory: Path, port: int) -> str:
    """Why the broker did not start, in one sentence, from what it logged since then."""
    if "No space left on device" in log:
        return disk_full(directory)
    if "Address already in use" in log:
        return port_taken(port)
    if "Failed to acquire lock on file .lock" in log:
        return f"Another broker uses {directory}: stop it first, or choose another folder."
    if re.search(r"OutOfMemoryError|Could not reserve enough space|insufficient memory|Cannot allocate memory", log):
        return "There is not enough memory for a broker, which needs about 1 GB: stop something else first."
    if bad := re.search(r"ConfigException: (Invalid value .+|Missing required .+|Unknown .+)", log):
        return f"The broker refused its settings: {bad[1]}."
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("\tat ")]
    errors = [line for line in lines if re.search(r"\b(ERROR|FATAL)\b|Exception|^Error", line)]
    said = (errors or lines or ["it logged nothing"])[-1].strip()
    return f"The broker did not start: {said} (its log is {directory / 'broker.log'})."


def disk_full(directory: Path) -> str:
    return f"No space is left on the disk of {directory}: free some, or choose another folder for the broker's data."


def port_taken(port: int) -> str:
    return (
        f"Port {port} of this machine is taken: stop what listens there, or choose another port (0 takes a free one)."
    )
