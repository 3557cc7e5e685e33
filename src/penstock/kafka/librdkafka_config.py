"""What each setting of Java's clients becomes in librdkafka.

Users write the settings of Java's producer, consumer and admin client, in the worker's configuration and in a
connector's overrides. The tables here are the one place that knows, for each of them, its type and check (Java's, with
Java's words) and its counterparts. A setting without a counterpart either makes no difference here (``NO_EFFECT``), or
is missed (``IGNORED``) and named once in a warning, or is refused by a sentence (``refused``); one that Java does not
know either is accepted and named once in a warning, as in Java. Security has a file of its own.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import CaseInsensitiveValidString, Validator, ValidString, at_least
from penstock.java.text import java_text

log = logging.getLogger(__name__)

_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Setting:
    """One Java setting: how it is read, and the names in librdkafka that get its value."""

    type: ConfigType
    to: tuple[str, ...] = ()
    check: Validator | None = None
    convert: Callable[[Any], Any] = lambda value: value
    """From the value read to librdkafka's. May raise ConfigError; None leaves the counterparts unset."""
    missed: bool = False
    """Whoever gives it wants something that does not happen here, and is told so."""


NO_EFFECT = Setting(ConfigType.STRING)
IGNORED = Setting(ConfigType.STRING, missed=True)


def translate(java: Mapping[str, Any], table: Mapping[str, Setting], client: str) -> dict[str, Any]:
    """librdkafka's settings for these of Java. ``client`` (``producer``, ...) is for the warning about unknown ones.

    Raises ConfigError, as Java's client would, for a value of a wrong type or out of range, and for what can't be had
    here.
    """
    native: dict[str, Any] = {}
    for name, given in java.items():
        setting = table.get(name)
        if setting is None:
            if not name.startswith("metrics.context."):
                _warn_unknown(client, name)
            continue
        if setting.missed and name.split(".")[0].upper() in str(java.get("security.protocol", "")).upper():
            _warn_missed(name)
        value = parse_type(name, given, setting.type)
        if setting.check is not None:
            setting.check(name, value)
        if value is not None and setting.to and (converted := setting.convert(value)) is not None:
            native.update(dict.fromkeys(setting.to, converted))
    return native


@functools.cache
def _warn_unknown(client: str, name: str) -> None:
    log.warning("The %s setting `%s` is not known to Kafka's clients and has no effect", client, name)


@functools.cache
def _warn_missed(name: str) -> None:
    log.warning("The setting `%s` has no effect here: the clients that are used know nothing like it", name)


def number(
    type: ConfigType, *to: str, least: int | None = 0, low: int = 0, high: int = _INT_MAX, scale: int = 1
) -> Setting:
    """A number that Java wants to be ``least`` or more, brought into the narrower range that librdkafka takes."""
    check = None if least is None else at_least(least)
    return Setting(type, to, check, lambda value: min(max(value // scale, low), high))


def flag(*to: str) -> Setting:
    return Setting(ConfigType.BOOLEAN, to)


def text(*to: str, check: Validator | None = None, convert: Callable[[str], Any] = lambda value: value) -> Setting:
    return Setting(ConfigType.STRING, to, check, convert)


def names(*to: str) -> Setting:
    return Setting(ConfigType.LIST, to, convert=",".join)


def refused(name: str, why: str) -> Setting:
    """Accepted while it is empty; otherwise a ConfigError that says why not."""

    def convert(value: str) -> None:
        if value.strip():
            raise ConfigError(name, value, why)

    return Setting(ConfigType.STRING, (name,), convert=convert)


def _partitioner(value: str) -> str:
    match value.rpartition(".")[2]:
        case "" | "DefaultPartitioner" | "UniformStickyPartitioner":
            return "murmur2_random"
        case "RoundRobinPartitioner":
            return "random"
    why = "Partitioners are Java classes and can't be run here; leave this setting out for Kafka's own partitioning"
    raise ConfigError("partitioner.class", value, why)


_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def _assignors(classes: list[str]) -> str | None:
    """Eager and cooperative ones can't be offered together here; the eager ones are what a mixed list agrees on."""
    known = [_ASSIGNORS[name] for each in classes if (name := each.strip().rpartition(".")[2]) in _ASSIGNORS]
    if classes and not known:
        why = f"Only these can be used here: {', '.join(_ASSIGNORS)}"
        raise ConfigError("partition.assignment.strategy", ",".join(classes), why)
    eager = [name for name in known if name != "cooperative-sticky"]
    return ",".join(eager or known) or None


def _offset_reset(value: str) -> str:
    if value.startswith("by_duration:"):
        raise ConfigError("auto.offset.reset", value, "Use earliest, latest or none; a duration can't be used here")
    return "error" if value == "none" else value


def _reset_check(name: str, value: Any) -> None:
    if value not in ("earliest", "latest", "none") and not (value or "").startswith("by_duration:"):
        forms = "'earliest', 'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'"
        problem = f"Invalid value `{java_text(value)}` for configuration {name}. The value must be either {forms}."
        raise ConfigError(name, value, problem)


_NO_INTERCEPTORS = "Interceptors are Java classes and can't be run here; leave this setting out"

# Names of Java that have no meaning here: classes that are always the same, Java's own metrics, tuning of Java's
# clients.
_UNUSED = dict.fromkeys(
    (
        "config.providers",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "metadata.max.idle.ms",
        "socket.connection.setup.timeout.max.ms",
        "default.api.timeout.ms",
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
    ),
    NO_EFFECT,
)

COMMON: dict[str, Setting] = {
    **_UNUSED,
    "bootstrap.servers": names("bootstrap.servers"),
    "client.id": text("client.id", convert=lambda value: value or None),
    "client.dns.lookup": text(
        "client.dns.lookup", check=ValidString("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    ),
    "connections.max.idle.ms": number(ConfigType.LONG, "connections.max.idle.ms", least=None),
    "enable.metrics.push": flag("enable.metrics.push"),
    "metadata.max.age.ms": number(ConfigType.LONG, "metadata.max.age.ms", low=1, high=86_400_000),
    "metadata.recovery.strategy": text(
        "metadata.recovery.strategy", check=CaseInsensitiveValidString("rebootstrap", "none"), convert=str.lower
    ),
    "metadata.recovery.rebootstrap.trigger.ms": number(ConfigType.LONG, "metadata.recovery.rebootstrap.trigger.ms"),
    "receive.buffer.bytes": number(ConfigType.INT, "socket.receive.buffer.bytes", least=-1, high=100_000_000),
    "send.buffer.bytes": number(ConfigType.INT, "socket.send.buffer.bytes", least=-1, high=100_000_000),
    "reconnect.backoff.ms": number(ConfigType.LONG, "reconnect.backoff.ms", high=3_600_000),
    "reconnect.backoff.max.ms": number(ConfigType.LONG, "reconnect.backoff.max.ms", high=3_600_000),
    "retry.backoff.ms": number(ConfigType.LONG, "retry.backoff.ms", low=1, high=300_000),
    "retry.backoff.max.ms": number(ConfigType.LONG, "retry.backoff.max.ms", low=1, high=300_000),
    "socket.connection.setup.timeout.ms": number(
        ConfigType.LONG, "socket.connection.setup.timeout.ms", least=None, low=1000
    ),
}

MAX_PROPAGATION_MS = 2_000_000
"""librdkafka accepts an hour, but reckons in microseconds of 32 bits: above 35 minutes it does not wait at all."""

PRODUCER: dict[str, Setting] = {
    **COMMON,
    "acks": text("acks", check=ValidString("all", "-1", "0", "1")),
    "batch.size": number(ConfigType.INT, "batch.size", low=1),
    "buffer.memory": number(ConfigType.LONG, "queue.buffering.max.kbytes", scale=1024, low=1),
    "compression.type": text("compression.type", check=ValidString("none", "gzip", "snappy", "lz4", "zstd")),
    # One of these becomes `compression.level`, once the type is known: see `clients`.
    "compression.gzip.level": number(ConfigType.INT, "compression.gzip.level", least=None, low=-1, high=9),
    "compression.lz4.level": number(ConfigType.INT, "compression.lz4.level", least=1, high=12),
    "compression.zstd.level": number(ConfigType.INT, "compression.zstd.level", least=-131072, low=-1, high=12),
    "delivery.timeout.ms": number(ConfigType.INT, "message.timeout.ms"),
    "enable.idempotence": flag("enable.idempotence"),
    "interceptor.classes": refused("interceptor.classes", _NO_INTERCEPTORS),
    "linger.ms": number(ConfigType.LONG, "linger.ms", high=900_000),
    # Who produces waits for room by itself; a topic that is missing is waited for by librdkafka.
    "max.block.ms": number(ConfigType.LONG, "topic.metadata.propagation.max.ms", high=MAX_PROPAGATION_MS),
    "max.in.flight.requests.per.connection": number(
        ConfigType.INT, "max.in.flight.requests.per.connection", least=1, high=1_000_000
    ),
    "max.request.size": number(ConfigType.INT, "message.max.bytes", low=1000, high=1_000_000_000),
    "partitioner.class": text("partitioner", convert=_partitioner),
    "partitioner.adaptive.partitioning.enable": NO_EFFECT,
    "partitioner.availability.timeout.ms": NO_EFFECT,
    "partitioner.ignore.keys": Setting(
        ConfigType.BOOLEAN, ("partitioner",), convert=lambda ignore: "random" if ignore else None
    ),
    "request.timeout.ms": number(ConfigType.INT, "request.timeout.ms", "socket.timeout.ms", low=10, high=300_000),
    "retries": number(ConfigType.INT, "retries"),
    "transaction.timeout.ms": number(ConfigType.INT, "transaction.timeout.ms", least=None, low=1000),
    "transactional.id": text("transactional.id"),
}

CONSUMER: dict[str, Setting] = {
    **COMMON,
    "allow.auto.create.topics": flag("allow.auto.create.topics"),
    "auto.commit.interval.ms": number(ConfigType.INT, "auto.commit.interval.ms", high=86_400_000),
    "auto.offset.reset": text("auto.offset.reset", check=_reset_check, convert=_offset_reset),
    "check.crcs": flag("check.crcs"),
    "client.rack": text("client.rack", convert=lambda value: value or None),
    "enable.auto.commit": flag("enable.auto.commit"),
    "exclude.internal.topics": NO_EFFECT,  # `topics.regex` is expanded by the sink loop
    "fetch.max.bytes": number(ConfigType.INT, "fetch.max.bytes", high=2_147_483_135),
    "fetch.max.wait.ms": number(ConfigType.INT, "fetch.wait.max.ms", high=299_000),
    "fetch.min.bytes": number(ConfigType.INT, "fetch.min.bytes", low=1, high=100_000_000),
    "group.id": text("group.id"),
    "group.instance.id": text("group.instance.id"),
    "group.protocol": text(
        "group.protocol", check=CaseInsensitiveValidString("consumer", "classic"), convert=str.lower
    ),
    "group.remote.assignor": text("group.remote.assignor"),
    "heartbeat.interval.ms": number(ConfigType.INT, "heartbeat.interval.ms", least=None, low=1, high=3_600_000),
    "interceptor.classes": refused("interceptor.classes", _NO_INTERCEPTORS),
    "isolation.level": text("isolation.level", check=ValidString("read_committed", "read_uncommitted")),
    "max.partition.fetch.bytes": number(ConfigType.INT, "max.partition.fetch.bytes", low=1, high=1_000_000_000),
    "max.poll.interval.ms": number(ConfigType.INT, "max.poll.interval.ms", least=1, low=1, high=86_400_000),
    "max.poll.records": Setting(ConfigType.INT, check=at_least(1)),  # for the sink loop, which asks `max_poll_records`
    "partition.assignment.strategy": Setting(ConfigType.LIST, ("partition.assignment.strategy",), convert=_assignors),
    "request.timeout.ms": number(ConfigType.INT, "socket.timeout.ms", low=10, high=300_000),
    "session.timeout.ms": number(ConfigType.INT, "session.timeout.ms", least=None, low=1, high=3_600_000),
}

ADMIN: dict[str, Setting] = {
    **COMMON,
    "bootstrap.controllers": refused("bootstrap.controllers", "Name brokers in `bootstrap.servers` instead"),
    "request.timeout.ms": number(ConfigType.INT, "socket.timeout.ms", low=10, high=300_000),
    "retries": NO_EFFECT,
}
