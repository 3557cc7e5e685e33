from __future__ import annotations

import logging
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.kafka.offsets.topic import own_offsets_topic
from penstock.settings import (
    ExactlyOnceSource,
    InternalTopic,
    WorkerSettings,
    load_settings,
)
from penstock.worker.offsets import OffsetsAccess

BASE = {
    "bootstrap.servers": "a:9092, b:9092",
    "group.id": "g",
    "key.converter": "JsonConverter",
    "value.converter": "StringConverter",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "status",
}


def distributed(**more: str) -> WorkerSettings:
    return WorkerSettings.distributed_of({**BASE, **{k.replace("__", "."): v for k, v in more.items()}})


def test_defaults_are_those_of_java() -> None:
    settings = distributed()
    assert settings.bootstrap_servers == "a:9092,b:9092"
    assert settings.config_topic == InternalTopic("configs", 1, 3, {})
    assert settings.offset_topic == InternalTopic("offsets", 25, 3, {})
    assert settings.status_topic == InternalTopic("status", 5, 3, {})
    assert settings.exactly_once is ExactlyOnceSource.DISABLED
    assert (settings.topic_creation, settings.topic_tracking, settings.topic_tracking_reset) == (True, True, True)
    times = settings.offset_flush_interval_ms, settings.offset_flush_timeout_ms, settings.task_shutdown_timeout_ms
    assert times == (60_000, 5_000, 5_000)
    group = settings.group
    assert group is not None
    assert (group.group_id, group.protocol, group.session_timeout_ms) == ("g", "sessioned", 10_000)
    assert (group.heartbeat_interval_ms, group.rebalance_timeout_ms) == (3_000, 60_000)
    keys = settings.session_keys
    assert keys is not None
    assert (keys.ttl_ms, keys.algorithm, keys.verification_algorithms) == (3_600_000, "HmacSHA256", ("HmacSHA256",))
    assert settings.converters["header.converter"] == "org.apache.kafka.connect.storage.SimpleHeaderConverter"


def test_heartbeats_must_come_within_the_session() -> None:
    with pytest.raises(ConfigError) as caught:
        distributed(session__timeout__ms="6000", heartbeat__interval__ms="6000")
    assert str(caught.value) == (
        "Invalid value 6000 for configuration heartbeat.interval.ms: "
        "Heartbeat must be set lower than the session timeout (`session.timeout.ms=6000`)"
    )


def test_internal_topics_may_have_settings_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    more = {
        "config.storage.segment.ms": "5",
        "config.storage.partitions": "3",
        "offset.storage.cleanup.policy": "delete",
    }
    with caplog.at_level(logging.WARNING):
        settings = WorkerSettings.distributed_of({**BASE, **more})
    assert settings.config_topic == InternalTopic("configs", 1, 3, {"segment.ms": "5"})
    assert settings.offset_topic == InternalTopic("offsets", 25, 3, {})
    assert "`config.storage.partitions=3` has no effect" in caplog.text
    assert "`offset.storage.cleanup.policy=delete` has no effect" in caplog.text


def test_prefixes_and_spark() -> None:
    more = {"producer.acks": "1", "spark.master": "local[4]", "spark.app.name": "x", "consumer.fetch.min.bytes": "2"}
    settings = WorkerSettings.distributed_of({**BASE, **more})
    assert settings.with_prefix("producer.") == {"acks": "1"}
    assert settings.spark == {"spark.master": "local[4]", "spark.app.name": "x"}
    assert settings.config["consumer.fetch.min.bytes"] == "2"


def test_exactly_once_in_both_spellings() -> None:
    assert distributed(exactly__once__source__support="PREPARING").exactly_once is ExactlyOnceSource.PREPARING
    assert distributed(exactly__once__source__enabled="true").exactly_once is ExactlyOnceSource.ENABLED
    assert distributed(exactly__once__source__enabled="false").exactly_once is ExactlyOnceSource.DISABLED
    with pytest.raises(ConfigError, match=r"contradicts `exactly\.once\.source\.support=disabled`"):
        distributed(exactly__once__source__enabled="true", exactly__once__source__support="disabled")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("bootstrap.servers", "", "`bootstrap.servers` is empty"),
        ("session.timeout.ms", "x", "Invalid value x for configuration session.timeout.ms: Not a number of type INT"),
        (
            "connect.protocol",
            "x",
            "Invalid value x for configuration connect.protocol: Invalid Connect protocol compat",
        ),
        (
            "offset.storage.partitions",
            "0",
            "Invalid value 0 for configuration offset.storage.partitions: Number of part",
        ),
        ("listeners", "", "Invalid value for listeners, at least one URL is expected"),
        ("metric.reporters", "x.Y", "`metric.reporters=x.Y` can't be honoured"),
        ("sasl.oauthbearer.jwt.retriever.class", "x.Y", "can't be honoured: tokens are requested with the client's"),
        (
            "inter.worker.signature.algorithm",
            "HmacSHA512",
            "Signature algorithm must be present in inter.worker.verific",
        ),
        ("inter.worker.key.generation.algorithm", "X", "the supported algorithms are: "),
        ("inter.worker.key.size", "39", "and key size 39: Key length must be at least 40 bits"),
        ("client.dns.lookup", "x", "String must be one of: use_all_dns_ips, resolve_canonical_bootstrap_servers_only"),
        ("request.timeout.ms", "-1", "configuration request.timeout.ms: Value must be at least 0"),
        ("retry.backoff.ms", "-1", "configuration retry.backoff.ms: Value must be at least 0"),
        ("penstock.java.kafka.version", "4.4.0", "String must be one of: 4.3, 4.4"),
    ],
)
def test_invalid_settings_are_refused(name: str, value: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WorkerSettings.distributed_of({**BASE, name: value})
    assert problem in str(caught.value)


@pytest.mark.parametrize("name", ["group.id", "key.converter", "offset.storage.topic"])
def test_missing_required_settings_are_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WorkerSettings.distributed_of({key: value for key, value in BASE.items() if key != name})
    assert str(caught.value) == f'Missing required configuration "{name}" which has no default value.'


def test_known_settings_without_an_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    given = {"metrics.recording.level": "DEBUG", "metrics.num.samples": "2", "sasl.login.retry.backoff.ms": "50"}
    with caplog.at_level(logging.WARNING):
        distributed(**given)
    assert [record.getMessage() for record in caplog.records] == [
        "`metrics.recording.level=DEBUG` has no effect: all metrics are always recorded",
        "`sasl.login.retry.backoff.ms=50` has no effect: a token is requested again with the next connection",
    ]


def test_unknown_settings_are_named_with_what_may_be_meant(caplog: pytest.LogCaptureFixture) -> None:
    more = {"offset.flush.intervall.ms": "1", "tasks.max": "2", "internal.key.converter": "x", "key.converter.x": "y"}
    more |= {"metrics.context.region": "eu", "producer.metrics.context.region": "eu"}
    more |= {"max.request.size": "5000000", "compression.type": "zstd", "acks": "1"}  # of the internal topics' clients
    with caplog.at_level(logging.WARNING):
        WorkerSettings.distributed_of({**BASE, **more})
    assert [record.getMessage() for record in caplog.records] == [
        "`acks` is no setting of a worker and has no effect",
        "`internal.key.converter` has no effect: internal topics always hold JSON without schemas",
        "`metrics.context.region` has no effect: it is for metric reporters, of which there are none here",
        "`offset.flush.intervall.ms` is no setting of a worker and has no effect. Did you mean "
        "'offset.flush.interval.ms'?",
        "`tasks.max` is no setting of a worker and has no effect",
    ]


def test_settings_from_a_file_with_a_reference(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=s3cret")
    worker = tmp_path / "worker.properties"
    lines = [f"{key} = {value}" for key, value in BASE.items()]
    lines += [
        "config.providers=file",
        "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider",
        f"ssl.keystore.password=${{file:{tmp_path / 'secrets'}:password}}",
        "client.id=caf\xe9",
    ]
    worker.write_bytes("\n".join(lines).encode("iso-8859-1"))
    settings = load_settings(worker)
    assert settings.config["ssl.keystore.password"] == "s3cret"
    assert str(settings.values["ssl.keystore.password"]) == "[hidden]"
    assert settings.client_id == "café"
    assert "s3cret" not in str(settings.values)


PROVIDERS = {
    "config.providers": "env,vault",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.vault.class": "com.acme.VaultConfigProvider",
}


def test_a_provider_of_a_jar_that_the_file_does_not_refer_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_ID", "me")
    settings = WorkerSettings.distributed_of({**BASE, **PROVIDERS, "client.id": "${env:PENSTOCK_TEST_ID}"})
    assert settings.client_id == "me"


def test_a_provider_of_a_jar_that_the_file_refers_to() -> None:
    with pytest.raises(ConfigError) as caught:
        WorkerSettings.distributed_of({**BASE, **PROVIDERS, "client.id": "${vault:a:b}"})
    assert "The worker's own settings refer to the config provider com.acme.VaultConfigProvider." in str(caught.value)
    assert "One of a jar or in Python is for configurations of connectors" in str(caught.value)


def test_standalone(tmp_path: Path) -> None:
    config = {name: BASE[name] for name in ("bootstrap.servers", "key.converter", "value.converter")}
    worker = tmp_path / "worker.properties"
    worker.write_text("\n".join(f"{k}={v}" for k, v in {**config, "offset.storage.file.filename": "/x"}.items()))
    settings = load_settings(worker, standalone=True)
    assert (settings.distributed, settings.offset_file, settings.group, settings.config_topic) == (
        False,
        "/x",
        None,
        None,
    )
    with pytest.raises(ConfigError, match=r'Missing required configuration "offset\.storage\.file\.filename"'):
        WorkerSettings.standalone_of(config)


def test_a_standalone_worker_has_no_topic_for_offsets_and_no_group(caplog: pytest.LogCaptureFixture) -> None:
    """Its tasks would write their offsets to the topic, and it would read them from its file."""
    given = {**BASE, "offset.storage.file.filename": "/x", "exactly.once.source.support": "enabled"}
    settings = WorkerSettings.standalone_of(given)
    ignored = [name for name in given if name not in settings.config]
    assert ignored == [
        "group.id",
        "config.storage.topic",
        "offset.storage.topic",
        "status.storage.topic",
        "exactly.once.source.support",
    ]
    assert own_offsets_topic(settings.config, {"offsets.storage.topic": "own"}) is None
    assert OffsetsAccess(settings.config, *[None] * 5).topics("c", {}) == (None, None)  # type: ignore[arg-type]
    assert [name for name in ignored if f"`{name}={given[name]}` has no effect" not in caplog.text] == []


def test_the_restart_policy() -> None:
    assert WorkerSettings.distributed_of(BASE).values["penstock.restart.policy"] == "never"
    with pytest.raises(ConfigError, match=r"penstock\.restart\.policy: String must be one of: never, on-failure"):
        WorkerSettings.distributed_of({**BASE, "penstock.restart.policy": "always"})


def test_stalled_tasks() -> None:
    values = WorkerSettings.distributed_of(BASE).values
    names = ("penstock.task.stalled.after.ms", "penstock.stalled.action", "penstock.health.tasks")
    assert [values[name] for name in names] == [300_000, "report", False]
    for name, wrong in zip(names, ("999", "kill", "perhaps"), strict=True):
        with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
            WorkerSettings.distributed_of({**BASE, name: wrong})


def test_settings_of_kafka_4_4_that_connect_ignores_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        distributed(
            bootstrap__resolve__timeout__ms="5000",
            metadata__cluster__check__enable="false",
            sasl__oauthbearer__allow__unverified__issuer="true",
            connections__max__idle__ms="59999",
        )
    assert [record.getMessage() for record in caplog.records] == [
        "`metadata.cluster.check.enable=false` has no effect: Penstock's Kafka clients have nothing like it",
        "`sasl.oauthbearer.allow.unverified.issuer=true` has no effect: tokens are checked by brokers",
        "The value 5000 for the bootstrap.resolve.timeout.ms property will be ignored as Kafka Connect does not "
        "support asynchronous bootstrap resolution. The value 0 will be used instead.",
        "Configuration 'connections.max.idle.ms' with value '59999' is lower than configuration 'rebalance.timeout.ms' "
        "with value '60000'. This may cause the connection to the group coordinator to be closed during an ongoing "
        "rebalance, which can prolong or disrupt group rejoin.",
    ]


@pytest.mark.parametrize("idle", ["60000", "-1"])
def test_connections_that_outlast_a_rebalance_are_not_warned_of(idle: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        distributed(connections__max__idle__ms=idle)
    assert not caplog.records


def test_a_time_to_resolve_names_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.resolve\.timeout\.ms: Value must be at least 0"):
        distributed(bootstrap__resolve__timeout__ms="-1")


HOOK = {"penstock__alert__webhook__url": "https://hooks.example.com/a"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"webhook__url": "ftp://h/s3cret"}, "is no URL of a webhook; expected https://host/path"),
        ({"webhook__url": "https://"}, "is no URL of a webhook"),
        ({"webhook__url": "https://h:99999/s3cret"}, "is no URL of a webhook"),
        ({"webhook__url": "https://h/a s3cret"}, "is no URL of a webhook"),
        ({"webhook__url": "https://ada:s3cret@h/"}, "has a login before its host"),
        ({"webhook__url": "https://h/#s3cret"}, "has a fragment"),
        ({"webhook__url": "https://h", "webhook__header": "s3cret"}, "is not of the form Name: value"),
        ({"webhook__url": "https://h", "webhook__header": "A: s3cret\nB: c"}, "is not of the form Name: value"),
        ({"webhook__url": "https://h", "webhook__header": "Content-Length: 5"}, "which the worker sets itself"),
        ({"webhook__url": "https://a..b/s3cret"}, "has a host that can't be looked up"),
        ({"webhook__url": f"https://{'a' * 80}/s3cret"}, "has a host that can't be looked up"),
        ({"webhook__url": "http://h", "webhook__ca": "/ca.pem"}, "has no effect where `penstock.alert.webhook.url`"),
        ({"settle__ms": "5"}, "has no effect without `penstock.alert.webhook.url`"),
        ({"webhook__header": "A: s3cret"}, "has no effect without `penstock.alert.webhook.url`"),
        ({"webhook__ca": "/ca.pem"}, "has no effect without `penstock.alert.webhook.url`"),
    ],
)
def test_a_webhook_that_can_not_be_called_is_refused_without_its_secrets(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        distributed(**{f"penstock__alert__{name}": value for name, value in given.items()})
    assert sentence in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_webhook_needs_the_history() -> None:
    with pytest.raises(ConfigError, match="needs the history, which remembers what has been sent"):
        distributed(**HOOK, penstock__history__topic="")
    given = distributed(**HOOK, penstock__alert__webhook__header="Authorization: Bearer t0ken")
    assert "t0ken" not in f"{given.values}"
    assert "hooks.example.com" not in f"{given.values}"
