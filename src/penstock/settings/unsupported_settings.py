"""Worker settings that can't be honoured.

Known ones are refused; unknown ones are logged once, with the likely correction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.api.errors import ConfigError
from penstock.api.kafka_security import INSTEAD, JWT_RETRIEVERS, OTHER_RETRIEVERS, has_counterpart
from penstock.core.config.clients.settings import NO_REPORTERS, OF_REPORTERS
from penstock.core.config.unknown.similar_names import question, similar

# Settings that only make sense inside a JVM; a value other than the default would silently be without effect.
JAVA_ONLY = {
    "metric.reporters": "reporters are Java classes; metrics can be read at `GET /metrics`",
    "security.providers": "security providers are Java classes",
    "ssl.provider": "TLS is Python's own",
    "ssl.engine.factory.class": "TLS is Python's own",
    "ssl.secure.random.implementation": "TLS is Python's own",
    "sasl.client.callback.handler.class": f"callback handlers are Java classes; {INSTEAD}",
    "sasl.login.callback.handler.class": f"callback handlers are Java classes; {INSTEAD}",
    "sasl.login.class": "login classes are Java classes",
    "sasl.oauthbearer.jwt.retriever.class": OTHER_RETRIEVERS,
}
_JAVA_DEFAULTS = {
    "metric.reporters": ("org.apache.kafka.common.metrics.JmxReporter", "JmxReporter"),
    "sasl.oauthbearer.jwt.retriever.class": JWT_RETRIEVERS,
}

# Settings that are checked as in Java and have no effect: a value other than Java's default is logged.
WITHOUT_EFFECT = {
    "metrics.num.samples": ("2", "rates are taken over half a minute"),
    "metrics.sample.window.ms": ("30000", "rates are taken over half a minute"),
    "metrics.recording.level": ("INFO", "all metrics are always recorded"),
    "metadata.cluster.check.enable": ("true", "Penstock's Kafka clients have nothing like it"),
    "sasl.login.connect.timeout.ms": ("", "a token is waited for for 10 seconds"),
    "sasl.login.read.timeout.ms": ("", "a token is waited for for 10 seconds"),
    "sasl.login.refresh.buffer.seconds": ("300", "a token is renewed after 80 % of its life"),
    "sasl.login.refresh.min.period.seconds": ("60", "a token is renewed after 80 % of its life"),
    "sasl.login.refresh.window.factor": ("0.8", "a token is renewed after 80 % of its life"),
    "sasl.login.refresh.window.jitter": ("0.05", "a token is renewed after 80 % of its life"),
    "sasl.login.retry.backoff.max.ms": ("10000", "a token is requested again with the next connection"),
    "sasl.login.retry.backoff.ms": ("100", "a token is requested again with the next connection"),
    "sasl.oauthbearer.assertion.template.file": ("", "Penstock's Kafka clients have nothing like it"),
    "sasl.oauthbearer.allow.unverified.audience": ("false", "tokens are checked by brokers"),
    "sasl.oauthbearer.allow.unverified.issuer": ("false", "tokens are checked by brokers"),
    "sasl.oauthbearer.clock.skew.seconds": ("30", "tokens are checked by brokers"),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": ("3600000", "tokens are checked by brokers"),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": ("10000", "tokens are checked by brokers"),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": ("100", "tokens are checked by brokers"),
}

# Prefixes of the settings of clients, topics, plugins and Spark, which have names that are not listed here.
_FAMILIES = (
    "producer.",
    "consumer.",
    "admin.",
    "config.providers.",
    "config.storage.",
    "offset.storage.",
    "status.storage.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "listeners.https.",
    "admin.listeners.https.",
    "connector.client.config.override.",
    "spark.",
    "penstock.query.spark.",
    "penstock.openlineage.transport.",
)
_OF_OWN_CLIENTS = frozenset(
    {
        "batch.size",
        "buffer.memory",
        "check.crcs",
        "client.rack",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "isolation.level",
        "linger.ms",
        "max.block.ms",
        "max.partition.fetch.bytes",
        "max.request.size",
        "retries",
        "transaction.timeout.ms",
    }
)
"""Settings that the clients of the internal topics take without a prefix, as in Java, although no worker defines them.
Others that they know are set by Connect whatever is given, such as `acks`.
"""
_REMOVED = ("internal.key.converter", "internal.value.converter")


def refuse_java_only(config: Mapping[str, str]) -> None:
    """Raises ConfigError for the first setting that has a meaning in Java alone."""
    for name, reason in JAVA_ONLY.items():
        value = (config.get(name) or "").strip()
        if value and value not in _JAVA_DEFAULTS.get(name, ()) and not has_counterpart(name, value):
            raise ConfigError(f"`{name}={value}` can't be honoured: {reason}. Leave the setting out")


def unknown_settings(config: Mapping[str, str], known: Collection[str]) -> list[str]:
    """A sentence for each setting that nothing reads."""
    unknown = sorted(config.keys() - known - _OF_OWN_CLIENTS)
    return [_sentence(name, known) for name in unknown if not name.startswith(_FAMILIES)]


def without_effect(config: Mapping[str, str]) -> list[str]:
    """A sentence for each setting that is known and given, and changes nothing."""
    return [
        f"`{name}={config[name]}` has no effect: {reason}"
        for name, (default, reason) in WITHOUT_EFFECT.items()
        if config.get(name, default).strip().lower() != default.lower()
    ]


def _sentence(name: str, known: Collection[str]) -> str:
    if name.startswith(_REMOVED):
        return f"`{name}` has no effect: internal topics always hold JSON without schemas"
    if name.startswith(OF_REPORTERS):
        return f"`{name}` has no effect: {NO_REPORTERS}"
    return f"`{name}` is no setting of a worker and has no effect{question(similar(name, known))}"
