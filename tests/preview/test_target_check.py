"""Checks of what configurations name, with real brokers, a real registry and real files."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, NewTopic, ResourceType

from penstock.preview.messages import CheckRequest
from penstock.preview.process import Previews
from support.kafka.client import Kafka
from support.kafka.secured_broker import Secured, secured_broker

pytestmark = pytest.mark.integration

STRING = "org.apache.kafka.connect.storage.StringConverter"
SECONDS = 50

Steps = dict[tuple[str, str], tuple[str, str]]


def checked(bootstrap: str, config: dict[str, str], seconds: float = SECONDS, **worker: str) -> Steps:
    """Return outcome and message of each part and step, in their order; of the same ones the last."""
    given = {"bootstrap.servers": bootstrap, "key.converter": STRING, "value.converter": STRING, **worker}
    request = CheckRequest(connector={"name": "c", **config}, worker=given, seconds=seconds)
    steps = Previews(run_time_s=300).check(request).steps
    return {(step["part"], step["step"]): (step["outcome"], step["message"]) for step in steps}


def sink(topic: str, path: Path, **more: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", "topics": topic, "file": str(path / "out.txt"), **more}


def outcomes(steps: Steps) -> dict[tuple[str, str], str]:
    return {place: outcome for place, (outcome, _) in steps.items()}


@pytest.fixture(scope="module")
def closed() -> Iterator[int]:
    """A port that accepts no connection: it is bound, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def test_a_sink_that_can_run(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    config = sink(topic, tmp_path, **{"errors.deadletterqueue.topic.name": "dlq-none"})
    before = kafka.admin.list_topics(timeout=60).topics.keys()
    steps = checked(bootstrap, config)
    assert outcomes(steps) == {
        ("consumer", "dns"): "ok",
        ("consumer", "tcp"): "ok",
        ("consumer", "login"): "ok",
        ("consumer", "brokers"): "ok",
        ("consumer", "topics"): "ok",
        ("consumer", "privileges"): "ok",
        ("dead letter queue", "dns"): "ok",
        ("dead letter queue", "tcp"): "ok",
        ("dead letter queue", "login"): "ok",
        ("dead letter queue", "brokers"): "ok",
        ("dead letter queue", "topics"): "not checked",
        ("file", "file"): "ok",
    }
    assert steps["file", "file"][1].endswith("does not exist yet and can be created")
    assert not (tmp_path / "out.txt").exists()
    assert {"dlq-none", "c"}.isdisjoint(kafka.admin.list_topics(timeout=60).topics.keys() - before)
    groups = kafka.admin.list_consumer_groups(request_timeout=60).result().valid
    assert "connect-c" not in {group.group_id for group in groups}


def test_topics_and_folders_that_are_missing(bootstrap: str, tmp_path: Path) -> None:
    topic = f"none-{uuid.uuid4().hex}"
    steps = checked(bootstrap, sink(topic, tmp_path / "none"))
    assert steps["consumer", "topics"] == ("failed", f"{topic} do not exist, or may not be described with this login")
    assert steps["file", "file"] == ("failed", f"The folder {tmp_path / 'none'} does not exist on this worker")
    pattern = {"topics.regex": f"{topic}.*", "topics": ""}
    assert checked(bootstrap, sink("", tmp_path, **pattern))["consumer", "topics"][0] == "failed"


def test_an_override_that_nobody_answers_and_a_name_that_nobody_has(
    bootstrap: str, tmp_path: Path, closed: int
) -> None:
    override = "consumer.override.bootstrap.servers"
    steps = checked(bootstrap, sink("t", tmp_path, **{override: f"127.0.0.1:{closed}"}))
    assert steps["consumer", "tcp"][0] == "failed"
    assert "Connection refused" in steps["consumer", "tcp"][1]
    assert ("consumer", "login") not in steps
    steps = checked(bootstrap, sink("t", tmp_path, **{override: "no-host.invalid:9092"}))
    assert steps["consumer", "dns"][0] == "failed"
    assert "no-host.invalid" in steps["consumer", "dns"][1]


def test_logins_certificates_and_rights(secured: Secured, tmp_path: Path) -> None:
    topic = f"secured-{uuid.uuid4().hex[:6]}"
    secured.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    user = secured.add_user()
    given = {f"consumer.override.{k}": v for k, v in secured.login("SCRAM-SHA-512", user, "PEM").items()}
    secured.grant(f"User:{user}", ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    secured.grant(f"User:{user}", ResourceType.GROUP, "connect-c", AclOperation.READ)
    steps = checked(secured.sasl, sink(topic, tmp_path, **given))
    assert steps["consumer", "tls"][0] == steps["consumer", "login"][0] == "ok"
    assert steps["consumer", "privileges"] == ("failed", f"The login may not READ topic {topic}")
    secured.grant(f"User:{user}", ResourceType.TOPIC, topic, AclOperation.READ)
    assert checked(secured.sasl, sink(topic, tmp_path, **given))["consumer", "privileges"][0] == "ok"

    login = "consumer.override.sasl.jaas.config"
    wrong = {**given, login: given[login].replace(f'password="{user}"', 'password="wrong-s3cret"')}
    steps = checked(secured.sasl, sink(topic, tmp_path, **wrong))
    assert steps["consumer", "login"][0] == "failed"
    assert "uthentication" in steps["consumer", "login"][1]
    assert "wrong-s3cret" not in str(steps)

    untrusted = {k: v for k, v in given.items() if ".ssl.truststore." not in k}
    steps = checked(secured.sasl, sink(topic, tmp_path, **untrusted))
    assert steps["consumer", "tls"][0] == "failed"

    plain = {"consumer.override.bootstrap.servers": secured.sasl}
    steps = checked(secured.sasl, sink(topic, tmp_path, **plain))
    assert steps["consumer", "login"][0] == "failed"
    assert "Does security.protocol fit" in steps["consumer", "login"][1]


def test_a_registry_and_one_that_does_not_answer(
    bootstrap: str, kafka: Kafka, registry_url: str, tmp_path: Path, closed: int
) -> None:
    topic = kafka.create_topic()
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter"}
    url = "value.converter.schema.registry.url"
    steps = checked(bootstrap, sink(topic, tmp_path, **avro, **{url: registry_url}))
    assert steps["value.converter", "registry"][0] == "ok"
    steps = checked(bootstrap, sink(topic, tmp_path, **avro, **{url: f"http://127.0.0.1:{closed}"}))
    assert steps["value.converter", "registry"][0] == "failed"


def test_both_clusters_of_a_mirror(bootstrap: str, closed: int) -> None:
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": f"127.0.0.1:{closed}",
        "target.cluster.bootstrap.servers": bootstrap,
    }
    steps = checked(bootstrap, config)
    assert steps["source cluster", "tcp"][0] == "failed"
    assert steps["target cluster", "login"][0] == "ok"
    assert steps["producer", "login"][0] == "ok"


@pytest.mark.parametrize(
    ("config", "place", "outcome"),
    [
        ({"connector.class": "FileStreamSource", "topic": "t", "file": "/no/file"}, ("file", "file"), "not checked"),
        (
            {"connector.class": "SingerSource", "singer.tap": "/no/tap", "singer.config": "{}"},
            ("tap", "program"),
            "failed",
        ),
        (
            {
                "connector.class": "SparkSource",
                "topic": "t",
                "format": "text",
                "checkpoint.location": "/x",
                "path": "file:/no/folder",
            },
            ("target", "folder"),
            "failed",
        ),
        (
            {
                "connector.class": "SparkSource",
                "topic": "t",
                "format": "text",
                "checkpoint.location": "/x",
                "path": "s3a://bucket/x",
            },
            ("target", "storage"),
            "not checked",
        ),
        (
            {
                "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
                "connection.url": "jdbc:postgresql://no-host.invalid/app",
                "topic.prefix": "t-",
                "mode": "bulk",
            },
            ("database", "dns"),
            "failed",
        ),
    ],
)
def test_targets_of_sources(bootstrap: str, config: dict[str, str], place: tuple[str, str], outcome: str) -> None:
    assert checked(bootstrap, config)[place][0] == outcome


def test_a_target_that_never_answers_ends_with_the_time(bootstrap: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        config = {
            "connector.class": "penstock.connectors.PostgresSource",
            "database.hostname": "127.0.0.1",
            "database.port": str(mute.getsockname()[1]),
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "topic.prefix": "t",
        }
        steps = checked(bootstrap, config, 15)
    assert steps["producer", "login"][0] == "ok"
    assert steps["check", "time"] == ("failed", "There is no answer after the step tcp of database within 15 s")
