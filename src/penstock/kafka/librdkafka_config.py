"""Translation of the settings of Java's clients to those of librdkafka.

Users write the settings of Java's producer, consumer and admin client, in the worker's configuration and in a
connector's overrides. ``core.config.clients`` declares them: names, types and defaults. The tables here map each to its
counterpart in librdkafka, with Java's check of its value. A setting without a counterpart either makes no difference
here (``NO_EFFECT``), or is ignored with one warning (``IGNORED``, and settings that the tables lack), or is refused
with a message (``refused``); one that Java does not know either is ignored with one warning, as in Java. Settings of
security have a file of their own.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.config import ConfigDef
from penstock.api.config_types import ConfigType, Password, parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import CaseInsensitiveValidString, Validator, ValidString, at_least
from penstock.core.config.clients.settings import NO_REPORTERS, OF_REPORTERS
from penstock.java.text import java_text

log = logging.getLogger(__name__)

_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Counterpart of a Java setting: the names in librdkafka that get its value."""

    to: tuple[str, ...] = ()
    check: Validator | None = None
    convert: Callable[[Any], Any] = lambda value: value
    """From Java's value to librdkafka's. May raise ConfigError; None leaves the counterparts unset."""
    ignored: str = ""
    """Why it has no effect, of which a user who gives it is warned."""


NO_EFFECT = Counterpart()
IGNORED = Counterpart(ignored="librdkafka has no setting like it")

_READ_AS_TEXT = (ConfigType.CLASS, ConfigType.PASSWORD)


def translate(
    java: Mapping[str, Any], definition: ConfigDef, table: Mapping[str, Counterpart], client: str
) -> dict[str, Any]:
    """librdkafka's settings for these of Java. ``client`` (``producer``, ...) is for the warning about unknown ones.

    Raises ConfigError, as Java's client would, for a value of a wrong type or out of range, and for what is not
    supported here.
    """
    native: dict[str, Any] = {}
    for name, given in java.items():
        if (key := definition.keys.get(name)) is None:
            if name.startswith(OF_REPORTERS):
                _warn_ignored(name, NO_REPORTERS)
            else:
                _warn_unknown(client, name)
            continue
        counterpart = table.get(name, IGNORED)
        if counterpart.ignored and _used(name, str(java.get("security.protocol", ""))):
            _warn_ignored(name, counterpart.ignored)
        text = given.value if isinstance(given, Password) else given
        value = parse_type(name, text, ConfigType.STRING if key.type in _READ_AS_TEXT else key.type)
        if counterpart.check is not None:
            counterpart.check(name, value)
        if value is not None and counterpart.to and (converted := counterpart.convert(value)) is not None:
            native.update(dict.fromkeys(counterpart.to, converted))
    return native


def defaults(names: Iterable[str], definition: ConfigDef, table: Mapping[str, Counterpart]) -> dict[str, Any]:
    """Java's defaults of these settings, as librdkafka's settings."""
    return translate({name: definition.keys[name].default for name in names}, definition, table, "")


def _used(name: str, protocol: str) -> bool:
    """Whether a client with this ``security.protocol`` would use the setting in Java."""
    first = name.split(".")[0].upper()
    return first not in ("SASL", "SSL") or first in protocol.upper()


@functools.cache
def _warn_unknown(client: str, name: str) -> None:
    log.warning("The %s setting `%s` is not known to Kafka's clients and has no effect", client, name)


@functools.cache
def _warn_ignored(name: str, why: str) -> None:
    log.warning("The setting `%s` has no effect here: %s", name, why)


def number(*to: str, least: int | None = 0, low: int = 0, high: int = _INT_MAX, scale: int = 1) -> Counterpart:
    """A number that Java wants to be ``least`` or more, limited to the narrower range that librdkafka takes."""
    check = None if least is None else at_least(least)
    return Counterpart(to, check, lambda value: min(max(value // scale, low), high))


def same(*to: str, check: Validator | None = None, convert: Callable[[Any], Any] = lambda value: value) -> Counterpart:
    """The same value, or what ``convert`` makes of it."""
    return Counterpart(to, check, convert)


def refused(name: str, why: str) -> Counterpart:
    """Accepted while it is empty; otherwise a ConfigError with the reason."""

    def convert(value: str | list[str]) -> None:
        text = value if isinstance(value, str) else ",".join(value)
        if text.strip():
            raise ConfigError(name, text, why)

    return Counterpart((name,), convert=convert)


def address(given: str) -> str:
    """Host and port of an address, without the ``SASL_SSL://`` or its like before them, which says nothing in Java;
    librdkafka would not use an address whose protocol is another one than ``security.protocol``.
    """
    return given.strip().rpartition("://")[2]


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


def _not_rack_aware(value: bool) -> None:
    if value:
        why = "Partitions can't be chosen by the racks of their leaders here; leave this setting out"
        raise ConfigError("partitioner.rack.aware", value, why)


_NO_INTERCEPTORS = "Interceptors are Java classes and can't be run here; leave this setting out"

# Settings of Java that make no difference here: classes that are always the same, Java's own metrics, tuning of Java's
# clients.
_UNUSED = dict.fromkeys(
    (
        "config.providers",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "socket.connection.setup.timeout.max.ms",
    ),
    NO_EFFECT,
)

COMMON: dict[str, Counterpart] = {
    **_UNUSED,
    "bootstrap.resolve.timeout.ms": Counterpart(check=at_least(0)),
    "bootstrap.servers": same("bootstrap.servers", convert=lambda value: ",".join(map(address, value))),
    "client.id": same("client.id", convert=lambda value: value or None),
    "client.dns.lookup": same(
        "client.dns.lookup", check=ValidString("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    ),
    "connections.max.idle.ms": number("connections.max.idle.ms", least=None),
    "enable.metrics.push": same("enable.metrics.push"),
    "metadata.max.age.ms": number("metadata.max.age.ms", low=1, high=86_400_000),
    "metadata.recovery.strategy": same(
        "metadata.recovery.strategy", check=CaseInsensitiveValidString("rebootstrap", "none"), convert=str.lower
    ),
    "metadata.recovery.rebootstrap.trigger.ms": number("metadata.recovery.rebootstrap.trigger.ms"),
    "receive.buffer.bytes": number("socket.receive.buffer.bytes", least=-1, high=100_000_000),
    "send.buffer.bytes": number("socket.send.buffer.bytes", least=-1, high=100_000_000),
    "reconnect.backoff.ms": number("reconnect.backoff.ms", high=3_600_000),
    "reconnect.backoff.max.ms": number("reconnect.backoff.max.ms", high=3_600_000),
    "retry.backoff.ms": number("retry.backoff.ms", low=1, high=300_000),
    "retry.backoff.max.ms": number("retry.backoff.max.ms", low=1, high=300_000),
    "socket.connection.setup.timeout.ms": number("socket.connection.setup.timeout.ms", least=None, low=1000),
}

MAX_PROPAGATION_MS = 2_000_000
"""librdkafka accepts an hour, but reckons in microseconds of 32 bits: above 35 minutes it does not wait at all."""

PRODUCER: dict[str, Counterpart] = {
    **COMMON,
    **dict.fromkeys(("key.serializer", "value.serializer", "metadata.max.idle.ms"), NO_EFFECT),
    "acks": same("acks", check=ValidString("all", "-1", "0", "1")),
    "batch.size": number("batch.size", low=1),
    "buffer.memory": number("queue.buffering.max.kbytes", scale=1024, low=1),
    "compression.type": same("compression.type", check=ValidString("none", "gzip", "snappy", "lz4", "zstd")),
    # One of these becomes `compression.level`, once the type is known: see `clients`.
    "compression.gzip.level": number("compression.gzip.level", least=None, low=-1, high=9),
    "compression.lz4.level": number("compression.lz4.level", least=1, high=12),
    "compression.zstd.level": number("compression.zstd.level", least=-131072, low=-1, high=12),
    "delivery.timeout.ms": number("message.timeout.ms"),
    "enable.idempotence": same("enable.idempotence"),
    "interceptor.classes": refused("interceptor.classes", _NO_INTERCEPTORS),
    "linger.ms": number("linger.ms", high=900_000),
    # Who produces waits for room by itself; a topic that is missing is waited for by librdkafka.
    "max.block.ms": number("topic.metadata.propagation.max.ms", high=MAX_PROPAGATION_MS),
    "max.in.flight.requests.per.connection": number("max.in.flight.requests.per.connection", least=1, high=1_000_000),
    "max.request.size": number("message.max.bytes", low=1000, high=1_000_000_000),
    "partitioner.class": same("partitioner", convert=_partitioner),
    "partitioner.adaptive.partitioning.enable": NO_EFFECT,
    "partitioner.availability.timeout.ms": NO_EFFECT,
    "client.rack": Counterpart(ignored="a producer uses it only for partitioner.rack.aware, which is refused"),
    "partitioner.rack.aware": Counterpart(convert=_not_rack_aware, to=("partitioner",)),
    "partitioner.ignore.keys": same("partitioner", convert=lambda ignore: "random" if ignore else None),
    "request.timeout.ms": number("request.timeout.ms", "socket.timeout.ms", low=10, high=300_000),
    "retries": number("retries"),
    "transaction.timeout.ms": number("transaction.timeout.ms", least=None, low=1000),
    "transactional.id": same("transactional.id"),
}

CONSUMER: dict[str, Counterpart] = {
    **COMMON,
    **dict.fromkeys(("key.deserializer", "value.deserializer", "default.api.timeout.ms"), NO_EFFECT),
    "allow.auto.create.topics": same("allow.auto.create.topics"),
    "auto.commit.interval.ms": number("auto.commit.interval.ms", high=86_400_000),
    "auto.offset.reset": same("auto.offset.reset", check=_reset_check, convert=_offset_reset),
    "check.crcs": same("check.crcs"),
    "client.rack": same("client.rack", convert=lambda value: value or None),
    "enable.auto.commit": same("enable.auto.commit"),
    "exclude.internal.topics": NO_EFFECT,  # `topics.regex` is expanded by the sink loop
    "fetch.max.bytes": number("fetch.max.bytes", high=2_147_483_135),
    "fetch.max.wait.ms": number("fetch.wait.max.ms", high=299_000),
    "fetch.min.bytes": number("fetch.min.bytes", low=1, high=100_000_000),
    "group.id": same("group.id"),
    "group.instance.id": same("group.instance.id"),
    "group.protocol": same(
        "group.protocol", check=CaseInsensitiveValidString("consumer", "classic"), convert=str.lower
    ),
    "group.remote.assignor": same("group.remote.assignor"),
    "heartbeat.interval.ms": number("heartbeat.interval.ms", least=None, low=1, high=3_600_000),
    "interceptor.classes": refused("interceptor.classes", _NO_INTERCEPTORS),
    "isolation.level": same("isolation.level", check=ValidString("read_committed", "read_uncommitted")),
    "max.partition.fetch.bytes": number("max.partition.fetch.bytes", low=1, high=1_000_000_000),
    "max.poll.interval.ms": number("max.poll.interval.ms", least=1, low=1, high=86_400_000),
    "max.poll.records": Counterpart(check=at_least(1)),  # for the sink loop, which asks `max_poll_records`
    "partition.assignment.strategy": same("partition.assignment.strategy", convert=_assignors),
    "request.timeout.ms": number("socket.timeout.ms", low=10, high=300_000),
    "session.timeout.ms": number("session.timeout.ms", least=None, low=1, high=3_600_000),
}

ADMIN: dict[str, Counterpart] = {
    **COMMON,
    "default.api.timeout.ms": NO_EFFECT,
    "bootstrap.controllers": refused("bootstrap.controllers", "Name brokers in `bootstrap.servers` instead"),
    "request.timeout.ms": number("socket.timeout.ms", low=10, high=300_000),
    "retries": NO_EFFECT,
}
