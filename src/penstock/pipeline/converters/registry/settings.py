"""The settings that the converters of the Schema Registry share, by the names and with the defaults of Confluent's.

A setting that can't be honoured may have its default only: any other value is refused with a sentence.
Java: ``AbstractKafkaSchemaSerDeConfig``, ``SchemaRegistryClientConfig``, ``AbstractDataConfig``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from penstock.api.config import ConfigDef, ConfigType, Importance, Password
from penstock.api.errors import ConfigError
from penstock.api.validators import Described
from penstock.pipeline.converters.registry.subjects import STRATEGIES
from penstock.pipeline.converters.registry.wire import DESERIALIZERS, SERIALIZERS

REQUEST_HEADER = "request.header."
PREFIX = "schema.registry."
BASIC_SOURCES = ("URL", "USER_INFO", "SASL_INHERIT")
BEARER_SOURCES = ("STATIC_TOKEN", "OAUTHBEARER")

_B, _S, _I, _P, _L = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.PASSWORD, ConfigType.LIST
_STRATEGY = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
_NO_RULES = "The rules of data contracts are not carried out here; leave this setting out"
_JAVAS_TLS = "TLS is Python's own here, with its protocols and ciphers; leave this setting out"
_NO_CLASSES = "This names a Java class, which can't be run here; leave this setting out"


def registry_settings() -> ConfigDef:
    """A new definition with what all three converters have."""
    config = ConfigDef()
    for name, type, default, importance, documentation, check in _SETTINGS:
        config.define(name, type, default, check, importance, documentation)
    for name in _OF_CLIENT:
        key = config.keys[name]
        documentation = f"As `{name}`, and before it if both are given."
        config.define(PREFIX + name, key.type, None, key.validator, Importance.LOW, documentation)
    for name, type, default, why in _REFUSED:
        refuse(config, name, type, default, why)
    for name in _SSL:
        config.define(PREFIX + name, _P if "password" in name or name.endswith(".key") else _S, None,
                      importance=Importance.LOW, documentation=f"As Kafka's `{name}`, for the registry.")  # fmt: skip
    for name, type, default in _SSL_REFUSED:
        refuse(config, PREFIX + name, type, default, _JAVAS_TLS)
    config.define(PREFIX + "ssl.endpoint.identification.algorithm", _S, "https", importance=Importance.LOW,
                  documentation="Empty: the registry's certificate may be for another host.")  # fmt: skip
    return config


def in_effect(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings by their own names, which those of the client may be given under with a prefix.

    Java: the constructor of ``CachedSchemaRegistryClient``.
    """
    prefixed = {name: settings[PREFIX + name] for name in _OF_CLIENT}
    return {**settings, **{name: value for name, value in prefixed.items() if value is not None}}


def define_flag(config: ConfigDef, name: str, default: bool, documentation: str) -> None:
    config.define(name, _B, default, importance=Importance.MEDIUM, documentation=documentation)


def refuse(config: ConfigDef, name: str, type: ConfigType, default: Any, why: str) -> None:
    """Define a setting that may have no other value than its default."""

    def check(key: str, value: Any) -> None:
        if value != default and value not in (None, "", []):
            raise ConfigError(key, value, why)

    shown = "its default only" if default in (None, "", []) else f"{default} only"
    config.define(name, type, default, Described(check, shown), Importance.LOW, why + ".")


def one_of(values: tuple[str, ...]) -> Described:
    def check(name: str, value: Any) -> None:
        if value is not None and value not in values:
            raise ConfigError(name, value, f"It must be one of {', '.join(values)}")

    return Described(check, f"one of {', '.join(values)}")


def _source_of(values: tuple[str, ...]) -> Described:
    """An empty text counts as if the setting were not there, as in Java."""
    check = one_of(values)
    return Described(lambda name, value: check(name, value or None), str(check))


def _urls(name: str, value: Any) -> None:
    logins = any("@" in url for url in value or ())
    for url in value or ():
        # A password with a comma has been taken apart.
        shown = url.rpartition("@")[2] if "@" in url or not logins else "[hidden]"
        if not url.startswith(("http://", "https://")):
            raise ConfigError(name, shown, "It must be a list of http:// or https:// addresses, separated by commas")
        try:
            valid = all((urlsplit(url).hostname, urlsplit(url).port != 0))
        except ValueError:
            valid = False
        if not valid:
            raise ConfigError(
                name, shown, "It must have a host, and a number as its port; `/` in a password is written %2F, `,` %2C"
            )
    if not value:
        raise ConfigError(name, value, "It must have the address of one registry at least")


def _at_least(low: int) -> Described:
    def check(name: str, value: Any) -> None:
        if value is not None and value < low:
            raise ConfigError(name, value, f"It must be at least {low}")

    return Described(check, f"[{low},...]")


def revealed(value: Any) -> Any:
    """The text of a secret; other values as they are."""
    return value.value if isinstance(value, Password) else value


_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_NO_DEFAULT = ConfigDef().define("x", _L).keys["x"].default

_SETTINGS: tuple[tuple[str, ConfigType, Any, Importance, str, Any], ...] = (
    ("schema.registry.url", _L, _NO_DEFAULT, _HIGH,
     "Comma-separated list of URLs of the registry's instances; they are tried in turn.",
     Described(_urls, "addresses of a registry")),
    ("schema.registry.url.randomize", _B, False, _LOW, "Whether to start with any of the URLs.", None),
    ("max.schemas.per.subject", _I, 1000, _LOW, "How many schemas of one topic are kept for writing.", _at_least(1)),
    ("normalize.schemas", _B, False, _MEDIUM, "Whether the registry ignores differences that have no meaning.", None),
    ("auto.register.schemas", _B, True, _MEDIUM, "Whether schemas that the registry lacks are registered.", None),
    ("use.schema.id", _I, -1, _LOW, "The id of the schema to write with, if schemas are not registered.", None),
    ("use.schema.guid", _S, None, _LOW, "The GUID of the schema to write with, if schemas are not registered.", None),
    ("id.compatibility.strict", _B, True, _LOW,
     "Whether the schema of `use.schema.id` must be able to read what has the record's schema.", None),
    ("use.latest.version", _B, False, _LOW,
     "Whether to write with the latest schema of the subject, if schemas are not registered.",
     None),
    ("latest.compatibility.strict", _B, True, _LOW,
     "Whether the latest schema of the subject must be able to read what has the record's schema.", None),
    ("latest.cache.size", _I, 1000, _LOW, "How many latest schemas are kept.", _at_least(1)),
    ("latest.cache.ttl.sec", _I, -1, _LOW, "For how many seconds latest schemas are kept; -1: without end.", None),
    ("basic.auth.credentials.source", _S, None, _MEDIUM,
     "Where user and password are: URL, USER_INFO or SASL_INHERIT. Without this setting none are sent.",
     _source_of(BASIC_SOURCES)),
    ("basic.auth.user.info", _P, "", _MEDIUM, "`user:password`, for USER_INFO.", None),
    ("schema.registry.basic.auth.user.info", _P, "", _LOW, "Older name of `basic.auth.user.info`.", None),
    ("sasl.jaas.config", _P, None, _LOW, "The login whose user and password are used with SASL_INHERIT.", None),
    ("bearer.auth.credentials.source", _S, None, _MEDIUM, "Where the token is from: STATIC_TOKEN or OAUTHBEARER.",
     _source_of(BEARER_SOURCES)),
    ("bearer.auth.token", _P, "", _MEDIUM, "The token, for STATIC_TOKEN.", None),
    ("bearer.auth.issuer.endpoint.url", _S, None, _MEDIUM, "Where tokens are asked for, for OAUTHBEARER.", None),
    ("bearer.auth.client.id", _S, None, _MEDIUM, "The id of the client, for OAUTHBEARER.", None),
    ("bearer.auth.client.secret", _P, None, _MEDIUM, "The secret of the client, for OAUTHBEARER.", None),
    ("bearer.auth.scope", _S, None, _MEDIUM, "The scope of tokens, for OAUTHBEARER.", None),
    ("bearer.auth.logical.cluster", _S, None, _MEDIUM, "Sent to the registry as the header `target-sr-cluster`.", None),
    ("bearer.auth.identity.pool.id", _S, None, _MEDIUM,
     "Sent to the registry as the header `Confluent-Identity-Pool-Id`.", None),
    ("key.subject.name.strategy", _S, _STRATEGY, _MEDIUM, "How subjects of keys are named.", one_of(STRATEGIES)),
    ("value.subject.name.strategy", _S, _STRATEGY, _MEDIUM, "How subjects of values are named.", one_of(STRATEGIES)),
    ("key.schema.id.serializer", _S, SERIALIZERS[0], _MEDIUM,
     "Whether the id of a key's schema is put before the key or into a header.", one_of(SERIALIZERS)),
    ("key.schema.id.deserializer", _S, DESERIALIZERS[0], _MEDIUM,
     "Whether the id of a key's schema is looked for in a header too.", one_of(DESERIALIZERS)),
    ("value.schema.id.serializer", _S, SERIALIZERS[0], _MEDIUM,
     "Whether the id of a value's schema is put before the value or into a header.", one_of(SERIALIZERS)),
    ("value.schema.id.deserializer", _S, DESERIALIZERS[0], _MEDIUM,
     "Whether the id of a value's schema is looked for in a header too.", one_of(DESERIALIZERS)),
    ("proxy.host", _S, "", _LOW, "The host of a proxy between here and the registry.", None),
    ("proxy.port", _I, -1, _LOW, "The port of the proxy.", None),
    ("http.connect.timeout.ms", _I, 60000, _LOW, "How long connecting may take.", _at_least(1)),
    ("http.read.timeout.ms", _I, 60000, _LOW, "How long an answer may take.", _at_least(1)),
    ("max.retries", _I, 3, _LOW, "How often a request is made again that failed and may succeed.", _at_least(0)),
    ("retries.wait.ms", _I, 1000, _LOW, "The longest wait before the first retry.", _at_least(0)),
    ("retries.max.wait.ms", _I, 20000, _LOW, "The longest wait before any retry.", _at_least(0)),
    ("schemas.cache.config", _I, 1000, _LOW, "How many converted schemas are kept.", None),
    ("generalized.sum.type.support", _B, False, _MEDIUM,
     "Whether enums and unions have parameters that other formats understand too.", None),
    ("ignore.default.for.nullables", _B, False, _MEDIUM,
     "Whether a null stays null though its optional field has a default.", None),
)  # fmt: skip

_OF_CLIENT = (
    "basic.auth.credentials.source", "sasl.jaas.config", "bearer.auth.credentials.source", "bearer.auth.token",
    "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret", "bearer.auth.scope",
    "bearer.auth.logical.cluster", "bearer.auth.identity.pool.id", "proxy.host", "proxy.port",
    "http.connect.timeout.ms", "http.read.timeout.ms", "max.retries", "retries.wait.ms", "retries.max.wait.ms",
)  # fmt: skip
"""Java's client takes these with ``schema.registry.`` before them, too."""

_REFUSED: tuple[tuple[str, ConfigType, Any, str], ...] = (
    ("propagate.schema.tags", _B, False, "Tags of schemas are not carried on here"),
    ("use.latest.with.metadata", _S, None, "Choosing schemas by metadata is not possible here"),
    ("schema.format", _S, None, "Schemas are registered in their own format here"),
    ("execution.environment", _S, None, _NO_RULES),
    ("rule.executors", _L, [], _NO_RULES),
    ("rule.actions", _L, [], _NO_RULES),
    ("rule.service.loader.enable", _B, True, _NO_RULES),
    ("rule.metrics.enable", _B, True, _NO_RULES),
    ("validation.rules.execution", _S, "DISABLED", _NO_RULES),
    ("validation.rules.fail.fast", _B, False, _NO_RULES),
    ("validation.rules.executor.class", _S, "io.confluent.kafka.schemaregistry.rules.cel.CelValidator", _NO_RULES),
    ("bearer.auth.scope.claim.name", _S, "scope", "Claims of tokens are the registry's matter"),
    ("bearer.auth.sub.claim.name", _S, "sub", "Claims of tokens are the registry's matter"),
    ("bearer.auth.cache.expiry.buffer.seconds", ConfigType.SHORT, 300,
     "When tokens are renewed is the client's matter"),
    ("bearer.auth.custom.provider.class", _S, None, _NO_CLASSES),
    ("context.name.strategy", _S, "io.confluent.kafka.serializers.context.NullContextNameStrategy",
     "Contexts of the registry are chosen by its URL (/contexts/NAME) here"),
    ("schema.reflection", _B, False, _NO_CLASSES),
    ("schema.backup.enabled", _B, False, "Envelopes with a backup of the schema are not known here"),
)  # fmt: skip

_SSL = (
    "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.keystore.key",
    "ssl.keystore.certificate.chain", "ssl.key.password", "ssl.truststore.location", "ssl.truststore.password",
    "ssl.truststore.type", "ssl.truststore.certificates",
)  # fmt: skip
_SSL_REFUSED: tuple[tuple[str, ConfigType, Any], ...] = (
    ("ssl.protocol", _S, "TLSv1.3"), ("ssl.enabled.protocols", _L, ["TLSv1.2", "TLSv1.3"]),
    ("ssl.cipher.suites", _L, []), ("ssl.provider", _S, None), ("ssl.keymanager.algorithm", _S, "SunX509"),
    ("ssl.trustmanager.algorithm", _S, "PKIX"), ("ssl.secure.random.implementation", _S, None),
    ("ssl.engine.factory.class", _S, None),
)  # fmt: skip
