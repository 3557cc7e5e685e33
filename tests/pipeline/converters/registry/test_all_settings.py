"""Every setting of the three converters: what it changes, or that it is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.api.config import ConfigType
from penstock.api.errors import ConfigError
from penstock.api.record import Header
from penstock.api.schema import INT32, INT64, OPTIONAL_INT32, OPTIONAL_STRING, STRING, Schema, decimal, map_of, struct
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.converter import RegistryConverter
from pipeline.converters.registry.registry_double import RegistryDouble, failure, running_double

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

AVRO, JSON, PROTOBUF = AvroConverter, JsonSchemaConverter, ProtobufConverter
OLD = struct(("id", INT64), name="a.R")
NEW = struct(("id", INT64), ("age", INT32.with_(default=7)), name="a.R")
OTHER = struct(("id", STRING), name="a.R")
WIRE = "io.confluent.kafka.serializers.schema.id."
BY_RECORD = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
GUID = "12345678-1234-1234-1234-123456789abc"

Make = Callable[..., RegistryConverter]
Observe = Callable[[Make, RegistryDouble], Any]


def writes(schema: Schema, value: Any, is_key: bool = False, known: list[Schema] | None = None) -> Observe:
    """Return the message and its headers, the registered schemas, and the requests to the registry."""

    def observe(make: Make, double: RegistryDouble) -> Any:
        for each in known or ():
            double.register("t-value", {"schema": avro_text(each), "schemaType": "AVRO"})
            double.schemas[-1]["guid"] = GUID
        headers: list[tuple[Header, ...]] = [()]
        message = make(is_key).from_connect_batch(["t"], headers, [schema], [value])
        return message, [h.key for h in headers[0]], double.subjects, texts(double), double.queries, sent(double)

    return observe


def avro_text(schema: Schema) -> str:
    from penstock.pipeline.converters.registry.avro.options import AvroOptions
    from penstock.pipeline.converters.registry.avro.schema.text import show
    from penstock.pipeline.converters.registry.avro.to_avro import to_avro

    return show(to_avro(schema, AvroOptions()))


def texts(double: RegistryDouble) -> list[str]:
    return [schema["schema"] for schema in double.schemas]


def sent(double: RegistryDouble) -> list[Any]:
    names = ("authorization", "target-sr-cluster", "confluent-identity-pool-id")
    found = [{name.lower(): value for name, value in row.items()} for row in double.headers]
    return [[row.get(name) for name in names] for row in found]


def reads(type: str, text: str, payload: bytes, headers: list[Any] | None = None, is_key: bool = False) -> Observe:
    """Return the schema and the value of a message."""

    def observe(make: Make, double: RegistryDouble) -> Any:
        double.register("t-key" if is_key else "t-value", {"schema": text, "schemaType": type})
        double.schemas[-1]["guid"] = GUID
        head = b"" if headers else b"\0\0\0\0\1"
        schema, value = make(is_key).to_connect("t", headers or (), head + payload)
        return shown(schema), value

    return observe


def shown(schema: Schema | None) -> Any:
    if schema is None:
        return None
    inner = [(f.name, shown(f.schema)) for f in schema.fields]
    return schema.type, schema.name, schema.optional, dict(schema.parameters), inner


def latest_of(*subjects: str) -> Observe:
    def observe(make: Make, double: RegistryDouble) -> int:
        for name in subjects:
            double.register(name, {"schema": '"int"'})
        converter = make(False)
        for name in subjects:
            converter.registry.latest("", name)
        return len(double.requests)

    return observe


def plans(make: Make, double: RegistryDouble) -> int:
    converter = make(False)
    for schema in (OLD, OTHER, OLD):
        converter.from_connect("t", (), schema, {"id": "x" if schema is OTHER else 1})
    return len(converter._writing._plans)


def tries(make: Make, double: RegistryDouble) -> int:
    double.fail(failure(503, 50003, "down"))
    with pytest.raises(Exception, match="down"):
        make(False).from_connect("t", (), OLD, {"id": 1})
    return len(double.requests)


def first_asked(make: Make, double: RegistryDouble) -> set[str]:
    for _ in range(30):
        double.fail(failure(404, 40401, "no"))
        with pytest.raises(Exception, match="no"):
            make(False).from_connect("t", (), OLD, {"id": 1})
    return {path.partition("/subjects")[0] for _, path in double.requests}


def of_client(name: str) -> Observe:
    return lambda make, double: str(getattr(make(False).registry._client._rest_client, name))


def timeouts(make: Make, double: RegistryDouble) -> Any:
    found = make(False).registry._client._rest_client.session.timeout
    return found.connect, found.read


@dataclass(frozen=True)
class Effect:
    value: str
    observe: Observe
    base: dict[str, str] = field(default_factory=dict)
    kind: type[RegistryConverter] = AVRO


PLAIN = writes(OLD, {"id": 1})
KEY = writes(OLD, {"id": 1}, is_key=True)
FIXED = {"auto.register.schemas": "false"}
INCOMPATIBLE = writes(OTHER, {"id": "x"}, known=[OLD])
ENUM = '{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}}]}'
UNION = (
    '{"type":"record","name":"R","fields":[{"name":"u","type":[{"type":"record","name":"x.A","fields":[]},'
    '{"type":"record","name":"y.B","fields":[]}]}]}'
)
IN_HEADER = [("__value_schema_id", b"\1" + bytes.fromhex(GUID.replace("-", "")))]
KEY_IN_HEADER = [("__key_schema_id", IN_HEADER[0][1])]
NULLABLE = struct(("n", OPTIONAL_STRING), ("c", OPTIONAL_INT32.with_(default=5)), name="N")
NULLS = writes(NULLABLE, {"n": None, "c": None})
PROTO = 'syntax = "proto3"; package p.q; '
ONEOF = PROTO + "message M { oneof o { int32 a = 1; string b = 2; } }"
USER = {"basic.auth.credentials.source": "USER_INFO"}
STATIC = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "a"}
JAAS = 'a.PlainLoginModule required username="me" password="jaas";'
QUICK = {"retries.wait.ms": "1", "retries.max.wait.ms": "1", "max.retries": "2"}

SHARED: dict[str, Effect] = {
    "schema.registry.url.randomize": Effect("true", first_asked, {"schema.registry.url": "URL,URL/b"}),
    "max.schemas.per.subject": Effect("1", plans),
    "schemas.cache.config": Effect("1", plans),
    "normalize.schemas": Effect("true", PLAIN),
    "auto.register.schemas": Effect("false", PLAIN),
    "use.schema.id": Effect("1", writes(OLD, {"id": 1}, known=[NEW]), FIXED),
    "use.schema.guid": Effect(GUID, writes(OLD, {"id": 1}, known=[NEW]), FIXED),
    "id.compatibility.strict": Effect("false", INCOMPATIBLE, {**FIXED, "use.schema.id": "1"}),
    "use.latest.version": Effect("true", writes(OLD, {"id": 1}, known=[NEW]), FIXED),
    "latest.compatibility.strict": Effect("false", INCOMPATIBLE, {**FIXED, "use.latest.version": "true"}),
    "latest.cache.size": Effect("1", latest_of("a", "b", "a")),
    "latest.cache.ttl.sec": Effect("0", latest_of("a", "a")),
    "basic.auth.credentials.source": Effect("USER_INFO", PLAIN, {"basic.auth.user.info": "a:b"}),
    "basic.auth.user.info": Effect("c:d", PLAIN, {**USER, "schema.registry.basic.auth.user.info": "a:b"}),
    "schema.registry.basic.auth.user.info": Effect("c:d", PLAIN, USER),
    "sasl.jaas.config": Effect(JAAS, PLAIN, {"basic.auth.credentials.source": "SASL_INHERIT"}),
    "bearer.auth.credentials.source": Effect("STATIC_TOKEN", PLAIN, {"bearer.auth.token": "a"}),
    "bearer.auth.token": Effect("b", PLAIN, STATIC),
    "bearer.auth.logical.cluster": Effect("lsrc-1", PLAIN, STATIC),
    "bearer.auth.identity.pool.id": Effect("pool-1", PLAIN, {**STATIC, "bearer.auth.logical.cluster": "l"}),
    "key.subject.name.strategy": Effect(BY_RECORD, KEY),
    "value.subject.name.strategy": Effect(BY_RECORD, PLAIN),
    "key.schema.id.serializer": Effect(WIRE + "HeaderSchemaIdSerializer", KEY),
    "value.schema.id.serializer": Effect(WIRE + "HeaderSchemaIdSerializer", PLAIN),
    "key.schema.id.deserializer": Effect(
        WIRE + "PrefixSchemaIdDeserializer", reads("AVRO", '"int"', b"\2", KEY_IN_HEADER, is_key=True)
    ),
    "value.schema.id.deserializer": Effect(
        WIRE + "PrefixSchemaIdDeserializer", reads("AVRO", '"int"', b"\2", IN_HEADER)
    ),
    "proxy.host": Effect("proxy.invalid", PLAIN, {"proxy.port": "1", "max.retries": "0"}),
    "proxy.port": Effect("1", PLAIN, {"proxy.host": "proxy.invalid", "max.retries": "0"}),
    "http.connect.timeout.ms": Effect("5", timeouts),
    "http.read.timeout.ms": Effect("5", timeouts),
    "max.retries": Effect("0", tries, QUICK),
    "retries.wait.ms": Effect("7", of_client("retries_wait_ms")),
    "retries.max.wait.ms": Effect("7", of_client("retries_max_wait_ms")),
}
SHARED |= {
    f"schema.registry.{name}": SHARED[name]
    for name in (
        "basic.auth.credentials.source", "sasl.jaas.config", "bearer.auth.credentials.source", "bearer.auth.token",
        "bearer.auth.logical.cluster", "bearer.auth.identity.pool.id", "proxy.host", "proxy.port",
        "http.connect.timeout.ms", "http.read.timeout.ms", "max.retries", "retries.wait.ms", "retries.max.wait.ms",
    )
}  # fmt: skip
ITS_OWN: dict[type[RegistryConverter], dict[str, Effect]] = {
    AVRO: {
        "generalized.sum.type.support": Effect("true", reads("AVRO", ENUM, b"\0")),
        "ignore.default.for.nullables": Effect("true", NULLS),
        "connect.meta.data": Effect("false", writes(OLD.with_(version=3), {"id": 1})),
        "enhanced.avro.schema.support": Effect("true", reads("AVRO", UNION, b"\2")),
        "scrub.invalid.names": Effect("true", writes(struct(("a-b", INT32), name="x-y.R"), {"a-b": 1})),
        "discard.type.doc.default": Effect(
            "true", writes(struct(("id", INT64.with_(doc="a number")), name="R"), {"id": 1})
        ),
        "allow.optional.map.keys": Effect("true", writes(map_of(OPTIONAL_STRING, INT32), {"a": 1})),
        "flatten.singleton.unions": Effect("false", reads("AVRO", '["int"]', b"\0\2")),
        "avro.remove.java.properties": Effect(
            "true", writes(STRING.with_(parameters={"avro.java.string": "String"}), "x")
        ),
        "avro.fail.on.trailing.data": Effect("true", reads("AVRO", '"int"', b"\2x")),
    },
    JSON: {
        "generalized.sum.type.support": Effect("true", reads("JSON", '{"enum":["A","B"]}', b'"A"')),
        "ignore.default.for.nullables": Effect("true", NULLS),
        "object.additional.properties": Effect("false", PLAIN),
        "use.optional.for.nonrequired": Effect(
            "true", reads("JSON", '{"type":"object","properties":{"a":{"type":"string"}}}', b"{}")
        ),
        "flatten.singleton.unions": Effect("false", reads("JSON", '{"oneOf":[{"type":"string"}]}', b'"A"')),
        "decimal.format": Effect("NUMERIC", writes(decimal(2), Decimal("1.25"))),
        "json.fail.invalid.schema": Effect("true", reads("JSON", '{"type":"string","maxLength":1}', b'"AB"')),
        "json.indent.output": Effect("true", PLAIN),
    },
    PROTOBUF: {
        "generalized.sum.type.support": Effect("true", reads("PROTOBUF", ONEOF, b"\0\x08\x01")),
        "ignore.default.for.nullables": Effect("true", NULLS),
        "enhanced.protobuf.schema.support": Effect(
            "true", reads("PROTOBUF", PROTO + "message M { int32 a = 1; }", b"\0")
        ),
        "scrub.invalid.names": Effect("true", writes(struct(("a-b", INT32), name="R"), {"a-b": 1})),
        "int.for.enums": Effect(
            "true", reads("PROTOBUF", PROTO + "enum E { A = 0; } message M { E e = 1; }", b"\0")
        ),
        "optional.for.nullables": Effect("true", NULLS),
        "optional.for.proto2": Effect(
            "false", reads("PROTOBUF", 'syntax = "proto2"; message M { optional int32 a = 1; }', b"\0")
        ),
        "wrapper.for.nullables": Effect("true", NULLS),
        "wrapper.for.raw.primitives": Effect(
            "false",
            reads("PROTOBUF", 'syntax = "proto3"; package google.protobuf; message Int32Value { int32 value = 1; }',
                  b"\0\x08\x01"),
        ),
        "generate.struct.for.nulls": Effect(
            "true", reads("PROTOBUF", PROTO + "message M { N n = 1; } message N { int32 a = 1; }", b"\0")
        ),
        "generate.index.for.unions": Effect("false", reads("PROTOBUF", ONEOF, b"\0\x08\x01")),
        "flatten.unions": Effect("true", reads("PROTOBUF", ONEOF, b"\0\x08\x01")),
    },
}  # fmt: skip
KINDS = list(ITS_OWN)
ELSEWHERE = {
    "test_trouble.py": ("schema.registry.url",),
    "test_access.py": (
        "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret", "bearer.auth.scope",
        *(f"schema.registry.ssl.{name}" for name in (
            "keystore.location", "keystore.password", "keystore.type", "keystore.key", "keystore.certificate.chain",
            "key.password", "truststore.location", "truststore.password", "truststore.type", "truststore.certificates",
            "endpoint.identification.algorithm",
        )),
    ),
    "test_settings.py": tuple(
        f"schema.registry.bearer.auth.{name}" for name in ("issuer.endpoint.url", "client.id", "client.secret", "scope")
    ),
}  # fmt: skip
"""Settings that a server has to insist on, or several."""


def observed(kind: type[RegistryConverter], observe: Observe, config: dict[str, str]) -> Any:
    with running_double() as double:
        given = {"schema.registry.url": "URL", **config}
        given = {name: value.replace("URL", double.url) if "url" in name else value for name, value in given.items()}

        def make(is_key: bool) -> RegistryConverter:
            made = kind()
            made.configure(given, is_key)
            return made

        try:
            return observe(make, double)
        except Exception as error:  # an error is something that can be seen, too
            return type(error), str(error).replace(double.url, "")


CASES = [
    *((AVRO, name, effect) for name, effect in SHARED.items()),
    *((kind, name, effect) for kind, effects in ITS_OWN.items() for name, effect in effects.items()),
]


@pytest.mark.parametrize(("kind", "name", "effect"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_setting_has_its_effect(kind: type[RegistryConverter], name: str, effect: Effect) -> None:
    before = observed(kind, effect.observe, effect.base)
    assert observed(kind, effect.observe, {**effect.base, name: effect.value}) != before


@pytest.mark.parametrize("kind", KINDS)
def test_all_other_settings_are_refused_by_name(kind: type[RegistryConverter]) -> None:
    known = {*SHARED, *ITS_OWN[kind], *(name for names in ELSEWHERE.values() for name in names)}
    definition = kind.config_def()
    assert known <= definition.keys.keys()
    others = definition.keys.keys() - known
    assert others
    for name in others:
        key = definition.keys[name]
        value = str(not key.default).lower() if key.type is ConfigType.BOOLEAN else "7"
        with pytest.raises(ConfigError) as caught:
            kind().configure({"schema.registry.url": "http://x", name: value}, False)
        assert name in str(caught.value)
        default = key.default
        if default not in (None, "", []):
            text = ",".join(default) if isinstance(default, list) else str(default)
            kind().configure({"schema.registry.url": "http://x", name: text}, False)


def test_settings_tested_elsewhere_occur_in_those_tests() -> None:
    for file, names in ELSEWHERE.items():
        text = Path(__file__).with_name(file).read_text()
        assert [name for name in names if name.removeprefix("schema.registry.ssl.") not in text] == []
