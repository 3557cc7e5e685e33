"""The settings that all registry converters share, each by its effect."""

from __future__ import annotations

import base64
import ssl
import sys

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Header
from penstock.api.schema import INT32, INT64, OPTIONAL_INT64, STRING, struct
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.settings import registry_settings
from pipeline.converters.registry.registry_double import RegistryDouble, running_double

pytest.importorskip("fastavro")

SCHEMA = struct(("id", INT64), ("name", STRING), name="org.example.User")
VALUE = {"id": 1, "name": "a"}
STRATEGY = "io.confluent.kafka.serializers.subject."
WIRE = "io.confluent.kafka.serializers.schema.id."


def converter(double: RegistryDouble, config: dict[str, str] | None = None, is_key: bool = False) -> AvroConverter:
    made = AvroConverter()
    made.configure({"schema.registry.url": double.url, "max.retries": "0", **(config or {})}, is_key)
    return made


def test_a_registry_is_required():
    with pytest.raises(ConfigError, match=r"schema\.registry\.url"):
        AvroConverter().configure({}, False)


@pytest.mark.parametrize(
    ("kind", "missing", "extra", "config"),
    [
        (AvroConverter, "fastavro", "avro", {}),
        (AvroConverter, "confluent_kafka.schema_registry", "avro", {}),
        (JsonSchemaConverter, "jsonschema_rs", "json-schema", {"json.fail.invalid.schema": "true"}),
        (ProtobufConverter, "grpc_tools.protoc", "protobuf", {}),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(double, monkeypatch, kind, missing, extra, config):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError, match=rf"`{missing}` is missing.*pip install 'penstock\[{extra}\]'"):
        kind().configure({"schema.registry.url": double.url, **config}, False)


@pytest.mark.parametrize("url", ["localhost:8081", "mock://x", "", "http://", "http://:8081", "http://h:80x"])
def test_addresses_must_be_of_http(url):
    with pytest.raises(ConfigError, match=r"schema\.registry\.url"):
        AvroConverter().configure({"schema.registry.url": url}, False)


@pytest.mark.parametrize(
    "url",
    ["http://me:sec/ret@h:80", "http://me:sec[ret@h:80", "http://me:sec,ret@h:80", "http//me:secret@h:80"],
)
def test_addresses_are_refused_without_the_passwords_in_them(url):
    with pytest.raises(ConfigError, match=r"schema\.registry\.url") as caught:
        AvroConverter().configure({"schema.registry.url": url}, False)
    assert "sec" not in str(caught.value)
    assert "ret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("use.latest.with.metadata", "a=b"),
        ("rule.executors", "x"),
        ("context.name.strategy", "my.Strategy"),
        ("value.subject.name.strategy", "my.Strategy"),
        ("bearer.auth.credentials.source", "CUSTOM"),
        ("basic.auth.credentials.source", "FILE"),
        ("specific.avro.reader", "true"),
        ("schema.reflection", "true"),
    ],
)
def test_unsupported_settings_are_refused_by_name(double, name, value):
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        converter(double, {name: value})


def test_unknown_settings_are_said_to_have_no_effect_but_for_the_version_of_the_plugin(double, caplog):
    converter(double, {"plugin.version": "8.5.0", "request.header.X": "1", "auto.register.schema": "false"})
    assert [record.message for record in caplog.records] == [
        "AvroConverter has no setting auto.register.schema; it has no effect"
    ]


def test_defaults_are_not_refused(double):
    given = {
        name: ",".join(key.default) if isinstance(key.default, list) else str(key.default)
        for name, key in registry_settings().keys.items()
        if not key.required and key.default not in (None, "", [])
    }
    assert converter(double, given).from_connect("users", (), SCHEMA, VALUE)


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("TopicNameStrategy", "users-value"), ("RecordNameStrategy", "org.example.User"),
     ("TopicRecordNameStrategy", "users-org.example.User")],
)  # fmt: skip
def test_subjects(double, strategy, subject):
    made = converter(double, {"value.subject.name.strategy": STRATEGY + strategy})
    data = made.from_connect("users", (), SCHEMA, VALUE)
    assert list(double.subjects) == [subject]
    schema, value = made.to_connect("users", (), data)
    assert (schema.version, value) == (1, VALUE)


def test_a_context_in_the_address_has_subjects_of_its_own(double):
    converter(double).from_connect("t", (), NEWER, {**VALUE, "age": 5})
    double.url += "/contexts/.mine"
    data = converter(double).from_connect("t", (), SCHEMA, VALUE)
    assert list(double.subjects) == ["t-value", ":.mine:t-value"]
    schema, value = converter(double).to_connect("t", (), data)
    assert (schema.version, value) == (1, VALUE)
    found = converter(double).registered("t")
    assert [(each["subject"], each["id"]) for each in found] == [("t-value", 2)]


def test_a_key_has_a_subject_of_its_own_and_record_names_need_records(double):
    converter(double, is_key=True).from_connect("users", (), INT64, 5)
    assert list(double.subjects) == ["users-key"]
    made = converter(double, {"key.subject.name.strategy": STRATEGY + "RecordNameStrategy"}, is_key=True)
    with pytest.raises(DataError, match="the message key must only be a record schema"):
        made.from_connect("users", (), INT64, 5)


def test_nulls_are_tombstones_and_register_nothing(double):
    made = converter(double)
    assert made.from_connect_batch(
        ["t"] * 3, [()] * 3, [None, OPTIONAL_INT64, SCHEMA.with_(optional=True)], [None] * 3
    ) == [None, None, None]
    assert made.to_connect("t", (), None) == (None, None)
    assert double.requests == []
    with pytest.raises(DataError, match="Found null value for non-optional schema"):
        made.from_connect("t", (), SCHEMA, None)


def test_one_batch_asks_the_registry_once_per_schema(double):
    made = converter(double)
    rows = [{"id": i, "name": str(i)} for i in range(100)]
    data = made.from_connect_batch(["t"] * 100, [()] * 100, [SCHEMA] * 100, rows)
    assert len(double.requests) == 1
    schemas, values = converter(double).to_connect_batch(["t"] * 100, [()] * 100, data)
    assert values == rows
    assert len(set(map(id, schemas))) == 1
    assert len(double.requests) == 3


def test_without_registration_the_schema_is_looked_up(double):
    with pytest.raises(DataError, match="Error retrieving Avro schema of subject t-value"):
        converter(double, {"auto.register.schemas": "false"}).from_connect("t", (), SCHEMA, VALUE)
    first = converter(double).from_connect("t", (), SCHEMA, VALUE)
    assert converter(double, {"auto.register.schemas": "false"}).from_connect("t", (), SCHEMA, VALUE) == first


def test_schemas_that_have_been_deleted_are_read_but_not_written(double):
    converter(double).from_connect("t", (), SCHEMA, VALUE)
    converter(double, {"auto.register.schemas": "false"}).from_connect("t", (), SCHEMA, VALUE)
    assert "deleted=False" in double.queries[-1]
    guid = b"\1" + bytes.fromhex(double.schemas[0]["guid"].replace("-", ""))
    converter(double).to_connect("t", [("__value_schema_id", guid)], b"\x02\x02a")
    assert "deleted=True" in double.queries[-1]


NEWER = struct(("id", INT64), ("name", STRING), ("age", INT32.with_(default=7)), name="org.example.User")


def test_the_latest_version_is_written_if_it_can_read_the_records(double):
    converter(double).from_connect("t", (), SCHEMA, VALUE)
    converter(double).from_connect("t", (), NEWER, {**VALUE, "age": 5})
    latest = {"auto.register.schemas": "false", "use.latest.version": "true"}
    data = converter(double, latest).from_connect("t", (), SCHEMA, VALUE)
    assert data[:5] == b"\0\0\0\0\2"
    assert converter(double).to_connect("t", (), data)[1] == {**VALUE, "age": 7}
    other = struct(("id", STRING), ("name", STRING), name="org.example.User")
    with pytest.raises(DataError, match=r"latest\.compatibility\.strict=false.*/id: string can't be read as long"):
        converter(double, latest).from_connect("t", (), other, {"id": "x", "name": "a"})


def test_registration_wins_over_the_latest_version(double):
    converter(double).from_connect("t", (), NEWER, {**VALUE, "age": 5})
    converter(double, {"use.latest.version": "true"}).from_connect("t", (), SCHEMA, VALUE)
    assert double.subjects["t-value"] == [1, 2]


def test_a_schema_can_be_prescribed_by_its_id(double):
    converter(double).from_connect("t", (), NEWER, {**VALUE, "age": 5})
    made = converter(double, {"auto.register.schemas": "false", "use.schema.id": "1"})
    assert made.to_connect("t", (), made.from_connect("t", (), SCHEMA, VALUE))[1] == {**VALUE, "age": 7}


def test_a_guid_in_a_header_is_written_as_configured_and_read_by_default(double):
    made = converter(double, {"value.schema.id.serializer": WIRE + "HeaderSchemaIdSerializer"})
    rows = [(Header("mine", None, b"1"),), ()]
    headers = list(rows)
    data = made.from_connect_batch(["t"] * 2, headers, [SCHEMA] * 2, [VALUE] * 2)
    assert data == [b"\x02\x02a"] * 2
    guid = double.schemas[0]["guid"]
    assert [row[-1].key for row in headers] == ["__value_schema_id"] * 2
    assert headers[0][:1] == rows[0]
    assert headers[1][0].value == b"\1" + bytes.fromhex(guid.replace("-", ""))
    raw = [[(header.key, header.value) for header in row] for row in headers]
    schemas, values = converter(double).to_connect_batch(["t"] * 2, raw, data)
    assert values == [VALUE] * 2
    assert schemas[0].version == 1
    only_prefix = converter(double, {"value.schema.id.deserializer": WIRE + "PrefixSchemaIdDeserializer"})
    with pytest.raises(DataError, match="Unknown magic byte 2"):
        only_prefix.to_connect_batch(["t"] * 2, raw, data)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"basic.auth.credentials.source": "", "bearer.auth.credentials.source": ""}, None),
        ({"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:secret"}, "me:secret"),
        ({"basic.auth.credentials.source": "USER_INFO ", "basic.auth.user.info": "me:secret"}, "me:secret"),
        ({"basic.auth.credentials.source": "USER_INFO", "schema.registry.basic.auth.user.info": "me:old"}, "me:old"),
        ({"basic.auth.credentials.source": "SASL_INHERIT",
          "sasl.jaas.config": 'a.PlainLoginModule required username="me" password="jaas";'}, "me:jaas"),
    ],
)  # fmt: skip
def test_basic_credentials(double, config, expected):
    converter(double, config).from_connect("t", (), SCHEMA, VALUE)
    wanted = None if expected is None else "Basic " + base64.b64encode(expected.encode()).decode()
    assert double.headers[-1].get("Authorization") == wanted


def test_settings_of_the_client_may_have_the_prefix_of_the_registry(double):
    prefixed = {
        "schema.registry.bearer.auth.credentials.source": "OAUTHBEARER",
        "schema.registry.bearer.auth.issuer.endpoint.url": "http://127.0.0.1:9/token",
        "schema.registry.bearer.auth.client.id": "connect",
        "schema.registry.bearer.auth.client.secret": "secret",
        "schema.registry.bearer.auth.scope": "schemas",
    }
    provider = converter(double, prefixed).registry._client._rest_client.bearer_field_provider
    assert (provider.token_endpoint, provider.client.client_id) == ("http://127.0.0.1:9/token", "connect")
    assert (provider.client.client_secret, provider.client.scope) == ("secret", "schemas")
    with pytest.raises(ConfigError, match=r"bearer\.auth\.client\.id"):
        converter(double, {**prefixed, "schema.registry.bearer.auth.client.id": ""})


@pytest.mark.parametrize(("algorithm", "checked"), [(None, True), ("https", True), ("", False), ("none", False)])
def test_the_host_of_the_certificate_is_checked_unless_there_is_no_algorithm_for_it(double, algorithm, checked):
    given = {} if algorithm is None else {"schema.registry.ssl.endpoint.identification.algorithm": algorithm}
    assert converter(double, given).registry._client._rest_client.verify.check_hostname is checked


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        ({}, False),
        ({"schema.registry.url": "https://127.0.0.1:9"}, True),
        ({"schema.registry.url": "http://127.0.0.1:9,https://127.0.0.1:9"}, True),
    ],
)
def test_authorities_are_read_only_for_tls_and_no_certificate_is_believed_without_them(double, config, reads):
    verify = converter(double, config).registry._client._rest_client.verify
    assert (verify.verify_mode, verify.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert bool(verify.get_ca_certs()) is reads


def test_authorities_are_read_for_the_server_of_tokens(double):
    login = {f"bearer.auth.client.{name}": "x" for name in ("id", "secret")}
    config = {"bearer.auth.credentials.source": "OAUTHBEARER", **login}
    rest = converter(double, {**config, "bearer.auth.issuer.endpoint.url": "https://127.0.0.1:9/token"})
    assert rest.registry._client._rest_client.verify.get_ca_certs()


def test_credentials_in_the_address_are_sent_only_if_the_source_is_given(double):
    url = double.url.replace("http://", "http://me:url@")
    for config, sent in (({}, None), ({"basic.auth.credentials.source": "URL"}, "Basic bWU6dXJs")):
        made = AvroConverter()
        made.configure({"schema.registry.url": url, **config}, False)
        made.from_connect("t", (), SCHEMA, VALUE)
        assert double.headers[-1].get("Authorization") == sent


def test_a_static_token_and_headers(double):
    config = {
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": "abc",
        "request.header.X-Mine": "1",
    }
    converter(double, config).from_connect("t", (), SCHEMA, VALUE)
    assert double.headers[-1]["Authorization"] == "Bearer abc"
    assert double.headers[-1]["X-Mine"] == "1"
    assert "target-sr-cluster" not in double.headers[-1]
    converter(double, {**config, "bearer.auth.logical.cluster": "lsrc-1"}).from_connect("t", (), SCHEMA, VALUE)
    assert double.headers[-1]["target-sr-cluster"] == "lsrc-1"


def test_headers_are_sent_without_the_blanks_around_them(double):
    converter(double, {"request.header.Authorization": " Basic c2VjcmV0\n"}).from_connect("t", (), SCHEMA, VALUE)
    assert double.headers[-1]["Authorization"] == "Basic c2VjcmV0"


@pytest.mark.parametrize(
    "config",
    [
        {"request.header.X-Key": "sec\nret"},
        {"request.header.X-Key": "secr\u00e9t"},
        {"request.header.X Key": "secret"},
        {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "sec\x00ret"},
    ],
)
def test_headers_that_can_not_be_sent_are_refused_by_name_and_not_shown(double, config):
    with pytest.raises(ConfigError, match=r"request\.header\.X.Key|bearer\.auth\.token") as caught:
        converter(double, config)
    assert not any(value in str(caught.value) for value in config.values())


@pytest.mark.parametrize(
    "config",
    [
        {"basic.auth.credentials.source": "USER_INFO"},
        {"basic.auth.credentials.source": "SASL_INHERIT"},
        {"bearer.auth.credentials.source": "STATIC_TOKEN"},
        {"bearer.auth.credentials.source": "OAUTHBEARER"},
        {"bearer.auth.credentials.source": "STATIC_TOKEN", "basic.auth.credentials.source": "URL"},
        {"proxy.host": "localhost"},
    ],
)
def test_settings_that_need_others_say_so(double, config):
    with pytest.raises(ConfigError):
        converter(double, config)


def test_a_proxy_is_asked(double):
    host, _, port = double.url.removeprefix("http://").rpartition(":")
    made = AvroConverter()
    made.configure({"schema.registry.url": "http://registry.invalid", "proxy.host": host, "proxy.port": port}, False)
    made.from_connect("t", (), SCHEMA, VALUE)
    assert list(double.subjects) == ["t-value"] or double.requests[0][1].endswith("/subjects/t-value/versions")


def test_no_proxy_of_the_environment_is_asked(double, monkeypatch):
    with running_double() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        converter(double).from_connect("t", (), SCHEMA, VALUE)
        assert (len(double.requests), proxy.requests) == (1, [])
