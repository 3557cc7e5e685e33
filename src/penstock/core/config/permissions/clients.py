"""Kafka clients that a connector has, and settings of theirs that it may not override: those that run commands, load
code or use files.

The names are Java's and librdkafka's. librdkafka gets translated settings only, and none of its own; those are refused
here nevertheless, with a sentence. Spark's Kafka source and sink are Java's clients: what they are given could name any
class of Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from penstock.api.kafka_security import IAM_LOGIN, has_counterpart
from penstock.core.config.overrides import ADMIN, CLIENT_SETTINGS, CONSUMER, PRODUCER, OverridePolicy, check_overrides
from penstock.core.config.setting import Props
from penstock.core.config.sink import DLQ_TOPIC
from penstock.core.config.source import OFFSETS_TOPIC, has_dead_letters
from penstock.core.topic_creation.groups import uses_topic_creation
from penstock.java.errors import JaasError
from penstock.java.jaas import login_module

Problem = tuple[str, str]
JDBC_SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"
SPARK_SINK, SPARK_SOURCE = "penstock.connectors.SparkSink", "penstock.connectors.SparkSource"

_RUNS = "would run a command on the machine of the task"
_LOADS = "would load code into the process of the task"
_FILES = "would read or write files of the task's machine"
_SIGNALS = "would change the signals of the task's process"
_PROGRAM = "is for programs, not for configurations"
REFUSED: Mapping[str, str] = {
    "sasl.kerberos.kinit.cmd": _RUNS,
    "sasl.kerberos.keytab": _RUNS,  # librdkafka puts both into its kinit command, which a shell runs
    "sasl.kerberos.principal": _RUNS,
    "plugin.library.paths": _LOADS,
    "ssl.engine.location": _LOADS,
    "ssl.engine.id": _LOADS,
    "ssl.engine.factory.class": _LOADS,
    "ssl.providers": _LOADS,
    "security.providers": _LOADS,
    "config.providers": _LOADS,
    "offset.store.path": _FILES,
    "offset.store.method": _FILES,
    "internal.termination.signal": _SIGNALS,
    "opaque": _PROGRAM,
    "interceptors": _PROGRAM,
    "default_topic_conf": _PROGRAM,
    "ssl_engine_callback_data": _PROGRAM,
}
"""Effects of settings that are refused, by name."""
_REFUSED_PREFIXES = {"config.providers.": _LOADS, "ssl.engine.": _LOADS}
_OF_KAFKA = ("org.apache.kafka.common.", "org.apache.kafka.clients.consumer.")
_CLASSES = frozenset(
    {
        *("metric.reporters", "interceptor.classes", "partition.assignment.strategy"),
        *("key.serializer", "value.serializer", "key.deserializer", "value.deserializer"),
    }
)
"""Settings that name classes, besides those that end in ``.class`` or ``.classes``."""
_LOGINS = re.compile(r"org\.apache\.kafka\.common\.security\.(plain|scram|oauthbearer)\.\w+LoginModule")
_FILES_OF_JAVA = ("sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.template.file")
_URLS = ("sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.jwks.endpoint.url")


def override_problems(props: Mapping[str, str | None]) -> Iterator[Problem]:
    """Yield the problems of ``producer.override.*`` and its like; names as the configuration has them."""
    for key, value in props.items():
        for prefix in (PRODUCER, CONSUMER, ADMIN):
            if key.startswith(prefix) and value and (why := _refusal(key.removeprefix(prefix).strip().casefold())):
                yield key, f"{key.removeprefix(prefix)} may not be set by a connector: it {why}"


def java_problems(settings: Mapping[str, str | None], prefix: str) -> Iterator[Problem]:
    """Yield the problems of settings of Java's clients in Spark's process; messages show them with ``prefix``."""
    for given, value in settings.items():
        name = given.strip().casefold()
        if value and (why := _refusal(name) or _java_refusal(name, value.strip())):
            yield f"{prefix}{given}", f"{given} may not be set by a connector: it {why}"


def _refusal(name: str) -> str | None:
    if name.endswith("_cb"):
        return _PROGRAM
    prefixed = (why for prefix, why in _REFUSED_PREFIXES.items() if name.startswith(prefix))
    return REFUSED.get(name) or next(prefixed, None)


def _java_refusal(name: str, value: str) -> str | None:
    if has_counterpart(name, value):
        return None
    if name in _CLASSES or name.endswith((".class", ".classes")):
        named = [each.strip() for each in value.split(",")]
        # The C client has short names for its assignors, such as range.
        short = name == "partition.assignment.strategy"
        others = [each for each in named if not each.startswith(_OF_KAFKA) and not (short and "." not in each)]
        return f"names {others[0]}, which is no class of Kafka's clients" if others else None
    if name == "sasl.jaas.config" and not _is_own_login(value):
        return "names a login module that is not among Kafka's own for PLAIN, SCRAM and OAUTHBEARER"
    if name in _FILES_OF_JAVA:
        return _FILES
    if name in _URLS and not value.casefold().startswith(("http://", "https://")):
        return "has to be the URL of a server: http:// or https://"
    return None


def _is_own_login(jaas: str) -> bool:
    try:
        # Java ends a comment at a carriage return alone too, and could see another module.
        named = login_module(jaas).class_name
        return "\r" not in jaas.replace("\r\n", "\n") and (named == IAM_LOGIN or _LOGINS.fullmatch(named) is not None)
    except JaasError:
        return False


def clients_of(connector: str, props: Props, source: bool, *, exactly_once: bool, distributed: bool) -> list[str]:
    """Return the prefixes of the overrides of a connector's clients.

    ``connector`` is Java's name of its class. Java: ``AbstractHerder.connectorUsesProducer`` and its like, and what the
    builders of tasks in ``Worker`` make.
    """
    queue = has_dead_letters(props) if source else bool((props.get(DLQ_TOPIC) or "").strip())
    own_offsets = source and distributed and (exactly_once or bool((props.get(OFFSETS_TOPIC) or "").strip()))
    clients = []
    if source or queue or connector in (SPARK_SINK, JDBC_SINK):  # they have transactional ids
        clients.append(PRODUCER)
    if not source or own_offsets:
        clients.append(CONSUMER)
    if own_offsets or queue or (source and uses_topic_creation(props)):
        clients.append(ADMIN)
    return clients


def check_clients(policy: OverridePolicy, props: Props, clients: Collection[str], source: bool) -> None:
    """Raise ConnectError for overrides of these clients that the policy does not allow. May call a plugin."""
    for prefix in clients:
        check_overrides(policy, props, prefix, CLIENT_SETTINGS[prefix], source)
