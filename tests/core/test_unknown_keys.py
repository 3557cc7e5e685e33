"""Settings of a connector that nothing reads."""

from __future__ import annotations

import pytest

from penstock.api.config import ConfigDef, ConfigType
from penstock.core.config.catalog import Catalog
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.unknown_keys import Defined, unknown_keys
from penstock.core.config.validation import WorkerRules
from penstock.plugins import Plugins

FILE = {"name": "lines", "connector.class": "FileStreamSource", "topic": "lines", "file": "/tmp/lines"}
SINK = {"name": "lines", "connector.class": "FileStreamSink", "topics": "lines", "file": "/tmp/lines"}
SMT = "org.apache.kafka.connect.transforms."
WORKER = WorkerRules(
    group_id="workers", converters=dict.fromkeys(("key.converter", "value.converter", "header.converter"))
)


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def checked(plugins: Plugins, strict: bool = False, **more: str) -> ConfigInfos:
    base = SINK if "topics" in more else FILE
    names = {name.replace("__", "."): value for name, value in more.items()}
    rules = WorkerRules(WORKER.group_id, WORKER.exactly_once, WORKER.converters, WORKER.policy, WORKER.compile, strict)
    return plugins.validate({**base, **names}, rules)


CASES = {
    "misspelt": (
        {"fiel": "/tmp/x"},
        "'fiel' is no setting of this connector and has no effect",
    ),
    "misspelt, with a proposal": (
        {"errors__tolerence": "all"},
        "'errors.tolerence' is no setting of this connector and has no effect. Did you mean 'errors.tolerance'?",
    ),
    "of a converter that is not named": (
        {"value__converter__schemas__enable": "false"},
        "'value.converter.schemas.enable' has no effect: the connector does not name a 'value.converter', so the "
        "worker's is used, with the worker's settings",
    ),
    "of a converter that is named": (
        {"value__converter": "org.apache.kafka.connect.json.JsonConverter", "value__converter__schema__enable": "no"},
        "'value.converter.schema.enable' is no setting of JsonConverter and has no effect. "
        "Did you mean 'value.converter.schemas.enable'?",
    ),
    "of a client": (
        {"producer__override__linger__mss": "5"},
        "'producer.override.linger.mss' is no setting of a producer and has no effect. "
        "Did you mean 'producer.override.linger.ms'?",
    ),
    "overridden": (
        {"producer__override__value__serializer": "org.apache.kafka.common.serialization.StringSerializer"},
        "'producer.override.value.serializer' is overridden and has no effect: converters make the bytes of records",
    ),
    "of a client that the connector does not have": (
        {"consumer__override__max__poll__records": "5"},
        "'consumer.override.max.poll.records' has no effect: this connector has no consumer",
    ),
    "of a transform that is not listed": (
        {"transforms": "hoist", "transforms__hoist__type": f"{SMT}HoistField$Value", "transforms__hoist__field": "f",
         "transforms__hoost__field": "g"},
        "'transforms.hoost.field' has no effect: 'transforms' does not name 'hoost'. Did you mean 'hoist'?",
    ),
    "of a transform": (
        {"transforms": "hoist", "transforms__hoist__type": f"{SMT}HoistField$Value", "transforms__hoist__field": "f",
         "transforms__hoist__fields": "g"},
        "'transforms.hoist.fields' is no setting of HoistField$Value and has no effect. "
        "Did you mean 'transforms.hoist.field'?",
    ),
    "deprecated": (
        {"tasks__max__enforce": "false"},
        "'tasks.max.enforce' is deprecated: Kafka Connect has announced its removal",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "sentence"), CASES.values(), ids=CASES)
def test_a_setting_that_nothing_reads(plugins: Plugins, given: dict[str, str], sentence: str) -> None:
    relaxed = checked(plugins, **given)
    assert relaxed.error_count == 0
    assert relaxed.warnings == (sentence,)
    assert "warnings" not in relaxed.to_json()

    strict = checked(plugins, strict=True, **given)
    assert strict.errors == [sentence]
    assert strict.error_count == 1


@pytest.mark.parametrize(
    "given",
    [
        {"transaction__boundary": "poll", "penstock__restart__policy": "never",
         "topic__creation__default__segment__ms": "1",
         "topic__creation__default__partitions": "1", "topic__creation__default__replication__factor": "1"},
        {"value__converter": "org.apache.kafka.connect.json.JsonConverter", "value__converter__schemas__enable": "no"},
        {"topics": "lines", "consumer__override__max__poll__records": "5"},
        {"transforms": "a", "transforms__a__type": f"{SMT}Filter", "transforms__a__predicate": "p", "predicates": "p",
         "predicates__p__type": f"{SMT}predicates.TopicNameMatches", "predicates__p__pattern": "x"},
        {"connector__class": "MirrorSource", "source__cluster__alias": "a", "target__cluster__alias": "b",
         "source__cluster__bootstrap__servers": "localhost:1", "producer__linger__ms": "5",
         "source__consumer__fetch__min__bytes": "1", "topics": "x", "file": "y"},
        {"connector__class": "SparkSource", "format": "rate", "option__rowsPerSecond": "5"},
    ],
)  # fmt: skip
def test_settings_that_something_reads(plugins: Plugins, given: dict[str, str]) -> None:
    own = {"fields", "file", "topic", "topics"}
    assert [each for each in checked(plugins, **given).warnings if each.split("'")[1] not in own] == []


def test_names_are_compared_without_what_they_share(plugins: Plugins) -> None:
    converter = "org.apache.kafka.connect.storage.StringConverter"
    shown = checked(plugins, value__converter=converter, value__converter__converter__encodin="UTF-8").warnings
    assert len(shown) == 1
    assert "Did you mean 'value.converter.converter.encoding'?" in shown[0]
    drop = checked(plugins, transforms="d", transforms__d__type=f"{SMT}DropHeaders", transforms__d__heads="x").warnings
    assert drop == (
        "'transforms.d.heads' is no setting of DropHeaders and has no effect. Did you mean 'transforms.d.headers'?",
    )


def test_what_exactly_once_overrides(plugins: Plugins) -> None:
    given = {"producer.override.transactional.id": "mine", "producer.override.enable.idempotence": "false"}
    once = WorkerRules(WORKER.group_id, True, WORKER.converters)
    assert plugins.validate({**FILE, **given}, once).warnings == (
        "'producer.override.transactional.id' is overridden and has no effect: with exactly once each task has an id "
        "of its own",
        "'producer.override.enable.idempotence' is overridden and has no effect: exactly once needs true",
    )
    assert plugins.validate({**FILE, **given}, WORKER).warnings == ()
    right = {"producer.override.enable.idempotence": "true"}
    assert plugins.validate({**FILE, **right}, once).warnings == ()


def test_a_connector_that_defines_no_settings_may_read_any() -> None:
    defined = Defined(ConfigDef().define("name", ConfigType.STRING), ConfigDef(), (), ())
    assert unknown_keys({"name": "x", "anything": "1"}, defined, Catalog([])) == {}
