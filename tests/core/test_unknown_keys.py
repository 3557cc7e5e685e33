"""Settings of a connector that nothing reads."""

from __future__ import annotations

import pytest

from penstock.api.config import ConfigDef, ConfigType
from penstock.core.config.catalog import Catalog
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.unknown.keys import Defined, unknown_keys
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
        "'fiel' is no setting of this connector and has no effect. Did you mean 'file'?",
    ),
    "like no other": (
        {"colour": "red"},
        "'colour' is no setting of this connector and has no effect",
    ),
    "in another case": (
        {"File": "/tmp/x"},
        "'File' is no setting of this connector and has no effect. Did you mean 'file'?",
    ),
    "of the runtime, which is defined only if it is given": (
        {"penstock__restart__polcy": "never"},
        "'penstock.restart.polcy' is no setting of this connector and has no effect. "
        "Did you mean 'penstock.restart.policy'?",
    ),
    "a prefix": (
        {"penstock__lables__team": "a"},
        "'penstock.lables.team' is no setting of this connector and has no effect. "
        "Did you mean 'penstock.labels.team'?",
    ),
    "groups of topics": (
        {"topic__creation__groops": "a"},
        "'topic.creation.groops' is no setting of this connector and has no effect. "
        "Did you mean 'topic.creation.groups'?",
    ),
    "a group of topics": (
        {"topic__creation__defualt__partitions": "1"},
        "'topic.creation.defualt.partitions' has no effect: 'topic.creation.groups' does not name 'defualt'. "
        "Did you mean 'topic.creation.default.partitions'?",
    ),
    "a setting of a group of topics": (
        {"topic__creation__default__partitons": "1"},
        "'topic.creation.default.partitons' is no setting of topics. "
        "Did you mean 'topic.creation.default.partitions'?",
    ),
    "what the group default is not for": (
        {"topic__creation__default__exclude": "private-.*"},
        "'topic.creation.default.exclude' has no effect: group 'default' is for all topics that no other group matches",
    ),
    "a setting of the worker": (
        {"topic__creation__enable": "true"},
        "'topic.creation.enable' is a setting of the worker and has no effect on a connector",
    ),
    "creation of topics by a sink": (
        {"topics": "lines", "topic__creation__default__partitions": "1"},
        "'topic.creation.default.partitions' has no effect: topics are created by rules for source connectors only",
    ),
    "creation of topics by a sink, as in the draft": (
        {"topics": "lines", "topic__creation": "r"},
        "'topic.creation' has no effect: topics are created by rules for source connectors only",
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
def test_a_setting_that_nothing_reads_is_reported(plugins: Plugins, given: dict[str, str], sentence: str) -> None:
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
         "topic__creation__default__segment__ms": "1", "topic__creation__default__include": ".*",
         "topic__creation__default__partitions": "1", "topic__creation__default__replication__factor": "1"},
        {"topic__creation": "r", "topic__creation__r__regex": "l.*", "topic__creation__r__cleanup__policy": "compact"},
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
def test_settings_that_something_reads_are_accepted(plugins: Plugins, given: dict[str, str]) -> None:
    own = {"fields", "file", "topic", "topics"}
    assert [each for each in checked(plugins, **given).warnings if each.split("'")[1] not in own] == []


def test_names_are_compared_without_their_common_prefix(plugins: Plugins) -> None:
    converter = "org.apache.kafka.connect.storage.StringConverter"
    shown = checked(plugins, value__converter=converter, value__converter__converter__encodin="UTF-8").warnings
    assert len(shown) == 1
    assert "Did you mean 'value.converter.converter.encoding'?" in shown[0]
    drop = checked(plugins, transforms="d", transforms__d__type=f"{SMT}DropHeaders", transforms__d__heads="x").warnings
    assert drop == (
        "'transforms.d.heads' is no setting of DropHeaders and has no effect. Did you mean 'transforms.d.headers'?",
    )


def test_settings_that_exactly_once_overrides_are_reported(plugins: Plugins) -> None:
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


OWN = ConfigDef().define("connection.url", ConfigType.STRING).define("database.names", ConfigType.STRING)
RUNTIME = ConfigDef().define("name", ConfigType.STRING).define("errors.tolerance", ConfigType.STRING)


def judged(name: str, own: ConfigDef, *prefixes: str) -> tuple[str, bool] | None:
    """Return the message without the name at its beginning, and whether the setting is refused, or None."""
    found = unknown_keys({"name": "x", name: "1"}, Defined(RUNTIME, own, prefixes, ()), Catalog([]))
    return next(((each.sentence.partition("' ")[2], each.certain) for each in found.values()), None)


def test_a_connector_that_defines_no_settings_may_read_any() -> None:
    nothing = "is no setting of this connector and has no effect. Did you mean "
    assert judged("anything", ConfigDef()) is None
    assert judged("errors.tolerence", ConfigDef()) == (f"{nothing}'errors.tolerance'?", False)
    assert judged("penstock.lables.team", ConfigDef()) == (f"{nothing}'penstock.labels.team'?", False)


def test_misspelt_names_below_a_prefix_of_the_connector_are_reported() -> None:
    nothing = "is no setting of this connector and has no effect. Did you mean "
    assert judged("connection.ulr", OWN, "connection.") == (f"{nothing}'connection.url'?", True)
    assert judged("connection.ssl", OWN, "connection.") is None
    assert judged("conection.ssl", OWN, "connection.") == (f"{nothing}'connection.ssl'?", True)


def test_a_connector_of_a_jar_may_read_what_it_does_not_define() -> None:
    maybe = "is no setting that this connector defines; it may read it"
    assert judged("driver.encrypt", OWN, "") == (maybe, False)
    assert judged("connection.urls.more", OWN, "") == (f"{maybe}. Did you mean 'connection.url'?", False)
    assert judged("penstock.lables.team", OWN, "") == (f"{maybe}. Did you mean 'penstock.labels.team'?", False)
    nothing = "is no setting of this connector and has no effect. Did you mean "
    assert judged("database.name", OWN, "") == (f"{nothing}'database.names'?", True)


def test_a_misspelt_setting_of_jdbc_is_reported(plugins: Plugins) -> None:
    config = {"name": "x", "connector.class": "JdbcSink", "topics": "t", "connection.url": "jdbc:postgresql://h/d",
              "connection.ulr": "jdbc:postgresql://h/d", "connection.sslmode": "require"}  # fmt: skip
    (sentence,) = plugins.validate(config, WORKER).warnings
    assert sentence.endswith("Did you mean 'connection.url'?")
    strict = WorkerRules(WORKER.group_id, converters=WORKER.converters, strict=True)
    assert plugins.validate(config, strict).errors == [sentence]


def test_a_misspelt_option_of_spark_is_reported(plugins: Plugins) -> None:
    config = {"name": "x", "connector.class": "SparkSource", "format": "rate", "topic": "t", "opton.rowsPerSecond": "5"}
    (sentence,) = plugins.validate(config, WORKER).warnings
    assert sentence.endswith("Did you mean 'option.rowsPerSecond'?")


def test_ignored_settings_are_found_without_an_object_of_the_connector(plugins: Plugins) -> None:
    def ignored(base: dict[str, str], **more: str) -> list[str]:
        given = {**base, **{name.replace("__", "."): value for name, value in more.items()}}
        return plugins.ignored(given, WORKER, given)

    assert ignored(FILE) == []
    assert ignored(FILE, fiel="x", consumer__override__group__id="g", penstock__labels__team="a") == [
        "fiel",
        "consumer.override.group.id",
    ]
    assert ignored(SINK, transforms__x__type=f"{SMT}Filter") == ["transforms.x.type"]
