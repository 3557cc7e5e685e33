"""Converters with a registry that fails: an error that may pass is retriable, any other is a DataError with the
registry's own message.
"""

from __future__ import annotations

import pytest

from penstock.api.errors import DataError, RetriableError
from penstock.api.schema import INT64, STRING, struct
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.converter import RegistryConverter
from pipeline.converters.registry.registry_double import RegistryDouble, Reply, failure

pytest.importorskip("fastavro")

SCHEMA = struct(("id", INT64), ("name", STRING), name="org.example.User")
VALUE = {"id": 1, "name": "a"}


def converter(url: str, kind: type[RegistryConverter] = AvroConverter, **settings: str) -> RegistryConverter:
    made = kind()
    config = {"schema.registry.url": url, "retries.wait.ms": "1", "max.retries": "1"}
    made.configure(config | {name.replace("_", "."): value for name, value in settings.items()}, is_key=False)
    return made


FORMATS = pytest.mark.parametrize("kind", [AvroConverter, JsonSchemaConverter, ProtobufConverter])


@FORMATS
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_transient_errors_are_retriable_after_the_client_s_retries(double: RegistryDouble, status, kind):
    double.fail(failure(status, 50003, "try later", times=2))
    subject = converter(double.url, kind)
    with pytest.raises(RetriableError, match=r"(?s)subject users-value.*try later") as caught:
        subject.from_connect("users", (), SCHEMA, VALUE)
    assert len(double.requests) == 2
    assert f"Failed to serialize {kind.format} data from topic users" in str(caught.value)


def test_after_a_failure_the_registry_is_left_alone_for_the_pause_then_asked_again(
    double: RegistryDouble, monkeypatch: pytest.MonkeyPatch
):
    double.fail(failure(503, 50003, "down", times=2))
    subject = converter(double.url)
    now, several = [0.0], (["users"] * 2, [(), ()], [SCHEMA] * 2, [VALUE] * 2)
    subject.registry._clock = lambda: now[0]
    for _ in range(3):
        with pytest.raises(RetriableError, match="down"):
            subject.from_connect_batch(*several)
    assert len(double.requests) == 2
    now[0] = 1.0
    assert subject.from_connect_batch(*several)
    # A record by itself waits.
    double.fail(failure(503, 50003, "down", times=2))
    with pytest.raises(RetriableError, match="down"):
        subject.from_connect("others", (), SCHEMA, VALUE)
    slept: list[float] = []
    monkeypatch.setattr("penstock.pipeline.converters.registry.access.client.time.sleep", slept.append)
    assert subject.from_connect("others", (), SCHEMA, VALUE)
    assert slept == [pytest.approx(0.001)]


def test_a_registry_that_is_not_there_is_retriable():
    with pytest.raises(RetriableError, match="Connect"):
        converter("http://127.0.0.1:9", **{"http.connect.timeout.ms": "200"}).from_connect("t", (), SCHEMA, VALUE)


def test_the_next_of_several_registries_is_asked_when_one_is_not_there(double: RegistryDouble):
    assert converter(f"http://127.0.0.1:9,{double.url}").from_connect("t", (), SCHEMA, VALUE) is not None


@FORMATS
@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (401, 40101, "Unauthorized"),
        (404, 40401, "Subject not found."),
        (409, 409, "Schema being registered is incompatible with an earlier schema"),
        (422, 42201, "Invalid schema"),
    ],
)
def test_permanent_errors_are_data_errors_with_the_registry_s_message(
    double: RegistryDouble, status, code, words, kind
):
    double.fail(failure(status, code, words))
    with pytest.raises(DataError) as caught:
        converter(double.url, kind).from_connect("users", (), SCHEMA, VALUE)
    assert "users-value" in str(caught.value)
    assert f"{words}; error code: {code}" in str(caught.value)
    cause = caught.value.__cause__.__cause__
    assert cause.java_name == "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException"
    assert len(double.requests) == 1


def test_an_answer_that_is_no_json_is_a_data_error(double: RegistryDouble):
    double.fail(Reply(200, b"<html>Sign in</html>"))
    with pytest.raises(DataError, match="no JSON"):
        converter(double.url).from_connect("users", (), SCHEMA, VALUE)
    double.fail(Reply(404, b"<html>Not here</html>"))
    with pytest.raises(DataError, match="Not here"):
        converter(double.url).to_connect("users", (), b"\0\0\0\0\1\2")


def test_long_error_pages_are_shortened(double: RegistryDouble):
    double.fail(Reply(403, b"<html>Sign in" + b"x" * 2**20))
    with pytest.raises(DataError, match=r"Sign inx+\.\.\. \(\d+ characters\); error code: -1") as caught:
        converter(double.url).from_connect("users", (), SCHEMA, VALUE)
    error: BaseException | None = caught.value
    while error is not None:
        assert len(str(error)) < 11_000
        error = error.__cause__


def test_an_unknown_id_is_a_data_error_that_names_it(double: RegistryDouble):
    with pytest.raises(DataError, match=r"id 77 of subject users-value: Schema not found; error code: 40403"):
        converter(double.url).to_connect("users", (), b"\0\0\0\0\x4d\2")


def test_java_fails_where_the_subject_of_the_topic_lacks_the_schema(double: RegistryDouble):
    data = converter(double.url).from_connect("users", (), SCHEMA, VALUE)
    with pytest.raises(DataError, match="subject copies-value does not have this schema, which is under users-value"):
        converter(double.url).to_connect("copies", (), data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes are too few"),
        (b"\0\0\0", "3 bytes are too few"),
        (b"{}", "Unknown magic byte 123"),
    ],
)
def test_bytes_without_an_id_are_data_errors(double: RegistryDouble, data, words):
    with pytest.raises(DataError, match=f"Failed to deserialize data for topic t to Avro: {words}"):
        converter(double.url).to_connect("t", (), data)


def test_bytes_that_end_too_early_are_data_errors_that_name_the_id(double: RegistryDouble):
    data = converter(double.url).from_connect("users", (), SCHEMA, VALUE)
    with pytest.raises(DataError, match="Error deserializing Avro message for id 1"):
        converter(double.url).to_connect("users", (), data[:-1])


def test_bytes_after_a_value_are_an_error_only_if_the_settings_say_so(double: RegistryDouble):
    data = converter(double.url).from_connect("users", (), SCHEMA, VALUE) + b"x"
    assert converter(double.url).to_connect("users", (), data)[1] == VALUE
    with pytest.raises(DataError, match="Trailing data"):
        converter(double.url, **{"avro.fail.on.trailing.data": "true"}).to_connect("users", (), data)
