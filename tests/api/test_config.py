from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.api.config import (
    NO_DEFAULT,
    ConfigDef,
    ConfigType,
    Importance,
    Password,
    Width,
    parse_type,
    to_text,
)
from penstock.api.errors import ConfigError
from penstock.api.validators import NonNull, at_least


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.STRING, "  a b\t", "a b"),
        (ConfigType.INT, "+7", 7),
        (ConfigType.SHORT, "-32768", -32768),
        (ConfigType.LONG, str(2**63 - 1), 2**63 - 1),
        (ConfigType.DOUBLE, "1e3", 1000.0),
        (ConfigType.DOUBLE, ".5f", 0.5),
        (ConfigType.DOUBLE, "-Infinity", float("-inf")),
        (ConfigType.LIST, "", []),
        (ConfigType.LIST, " a ,b,, c", ["a", "b", "", "c"]),
        (ConfigType.CLASS, " x.Y ", "x.Y"),
        (ConfigType.INT, None, None),
        (ConfigType.INT, "-" + "0" * 5000 + "7", -7),
        (ConfigType.LONG, "0" * 5000, 0),
        (ConfigType.INT, "\u0660" * 30 + "\uff17", 7),
        (ConfigType.BOOLEAN, "fal\u017fe", False),
        (ConfigType.DOUBLE, "-0x1.8P-2d", -0.375),
        (ConfigType.DOUBLE, "0x1p99999", float("inf")),
        (ConfigType.INT, 5, 5),
        (ConfigType.LIST, ["a"], ["a"]),
        (ConfigType.BOOLEAN, False, False),
    ],
)
def test_parsing(type: ConfigType, text: Any, value: Any) -> None:
    assert parse_type("k", text, type) == value


@pytest.mark.parametrize(
    ("type", "text", "problem"),
    [
        (ConfigType.INT, "9" * 5000, "Not a number of type INT"),
        (ConfigType.LONG, "-" + "1" * 5000, "Not a number of type LONG"),
        (ConfigType.INT, "many", "Not a number of type INT"),
        (ConfigType.INT, "3000000000", "Not a number of type INT"),
        (ConfigType.SHORT, "32768", "Not a number of type SHORT"),
        (ConfigType.LONG, "1.0", "Not a number of type LONG"),
        (ConfigType.LONG, "1_0", "Not a number of type LONG"),
        (ConfigType.LONG, "\U0001d7d3", "Not a number of type LONG"),
        (ConfigType.DOUBLE, "1_0", "Not a number of type DOUBLE"),
        (ConfigType.DOUBLE, "0x10", "Not a number of type DOUBLE"),
        (ConfigType.DOUBLE, "inf", "Not a number of type DOUBLE"),
        (ConfigType.BOOLEAN, "yes", "Expected value to be either true or false"),
        (ConfigType.STRING, 5, "Expected value to be a string, but it was a java.lang.Long"),
        (ConfigType.LIST, 5, "Expected a comma separated list."),
    ],
)
def test_parsing_errors(type: ConfigType, text: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_type("k", text, type)
    assert str(caught.value) == f"Invalid value {text} for configuration k: {problem}"


def test_classes_are_looked_up_where_a_loader_is_given() -> None:
    assert parse_type("k", " a ", ConfigType.CLASS, {"a": 1}.get) == 1
    with pytest.raises(ConfigError, match="Invalid value b for configuration k: Class b could not be found"):
        parse_type("k", "b", ConfigType.CLASS, {"a": 1}.get)


def test_passwords_do_not_show() -> None:
    password = parse_type("k", "secret", ConfigType.PASSWORD)
    assert (str(password), repr(password), f"{password}", str([password])) == (
        "[hidden]",
        "[hidden]",
        "[hidden]",
        "[[hidden]]",
    )
    assert (password.value, password == "secret", type(password)) == ("secret", True, Password)
    assert to_text(password, ConfigType.PASSWORD) == "[hidden]"


def test_values_become_texts() -> None:
    pairs = [
        (True, ConfigType.BOOLEAN),
        (1.5, ConfigType.DOUBLE),
        (["a", "b"], ConfigType.LIST),
        (None, ConfigType.INT),
        ("c.D", ConfigType.CLASS),
    ]
    assert [to_text(value, type) for value, type in pairs] == ["true", "1.5", "a,b", None, "c.D"]


def file_config() -> ConfigDef:
    return (
        ConfigDef()
        .define("topic", ConfigType.STRING, NO_DEFAULT, importance=Importance.HIGH, documentation="The topic")
        .define("batch.size", ConfigType.INT, 2000, at_least(1), Importance.LOW)
    )


def test_parse_fills_in_defaults_and_ignores_what_is_not_defined() -> None:
    assert file_config().parse({"topic": " t ", "other": "x"}) == {"topic": "t", "batch.size": 2000}


def test_parse_raises_for_the_first_problem() -> None:
    with pytest.raises(ConfigError) as caught:
        file_config().parse({"batch.size": "x"})
    assert str(caught.value) == 'Missing required configuration "topic" which has no default value.'


def test_validate_finds_all_problems() -> None:
    values = file_config().validate_all({"batch.size": "0"})
    assert values["topic"].errors == ['Missing required configuration "topic" which has no default value.']
    assert values["batch.size"].errors == ["Invalid value 0 for configuration batch.size: Value must be at least 1"]
    assert values["batch.size"].value == 0


def test_a_value_that_can_not_be_parsed_is_also_checked_as_null() -> None:
    assert file_config().validate_all({"topic": "t", "batch.size": "x"})["batch.size"].errors == [
        "Invalid value x for configuration batch.size: Not a number of type INT",
        "Invalid value null for configuration batch.size: Value must be non-null",
    ]


def test_validate_lists_in_the_order_of_a_hash_map() -> None:
    config = ConfigDef()
    for name in ("schemas.enable", "converter.type", "decimal.format"):
        config.define(name, ConfigType.STRING, None)
    assert [value.name for value in config.validate({})] == ["decimal.format", "converter.type", "schemas.enable"]


def test_definitions_are_shown_as_documents() -> None:
    info = file_config().define("l", ConfigType.LIST, "a,b", width=Width.LONG, group="G", display_name="L").infos()[-1]
    assert info.to_json() == {
        "name": "l",
        "type": "LIST",
        "required": False,
        "default_value": "a,b",
        "importance": "MEDIUM",
        "documentation": "",
        "group": "G",
        "order_in_group": -1,
        "width": "LONG",
        "display_name": "L",
        "dependents": [],
    }
    topic = file_config().infos()[0]
    assert (topic.required, topic.default_value, topic.display_name) == (True, None, "topic")


def test_what_may_not_be_defined() -> None:
    with pytest.raises(ConfigError, match=r"Configuration topic is defined twice\."):
        file_config().define("topic", ConfigType.STRING)
    with pytest.raises(ConfigError, match="Invalid value 0 for configuration n: Value must be at least 1"):
        ConfigDef().define("n", ConfigType.INT, 0, at_least(1))


class OnlyWithMode:
    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return [parsed["mode"]]

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return parsed["mode"] is not None


def test_dependents_and_recommenders() -> None:
    config = (
        ConfigDef()
        .define("mode", ConfigType.STRING, None, dependents=["column"])
        .define("column", ConfigType.STRING, None, recommender=OnlyWithMode())
    )
    value = config.validate_all({"mode": "m"})["column"]
    assert (value.recommended_values, value.visible) == (["m"], True)
    assert config.validate_all({})["column"].visible is False


def test_dependents_that_are_not_defined() -> None:
    config = ConfigDef().define("mode", ConfigType.STRING, None, dependents=["column"])
    assert config.validate_all({})["column"].errors == ["column is referred in the dependents, but not defined."]
    with pytest.raises(
        ConfigError, match="Some configurations in are referred in the dependents, but not defined: column"
    ):
        config.parse({})


def test_embedding_prefixes_names_but_not_messages() -> None:
    child = (
        ConfigDef()
        .define("b", ConfigType.STRING, NO_DEFAULT, NonNull(), Importance.LOW)
        .define("a", ConfigType.STRING, None, importance=Importance.LOW)
        .define("grouped", ConfigType.STRING, None, group="Own", order_in_group=1)
    )
    config = ConfigDef().embed("transforms.x.", "Transforms: x", 2, child)
    assert [(key.name, key.group, key.order_in_group) for key in config.keys.values()] == [
        ("transforms.x.b", "Transforms: x", 2),
        ("transforms.x.a", "Transforms: x", 3),
        ("transforms.x.grouped", "Transforms: x: Own", 4),
    ]
    assert config.validate_all({})["transforms.x.b"].errors == [
        'Missing required configuration "transforms.x.b" which has no default value.',
        "Invalid value null for configuration b: entry must be non null",
    ]


def test_an_error_of_a_setting_shows_its_value_as_java_does() -> None:
    assert str(ConfigError("a", ["g", "g"], "x")) == "Invalid value [g, g] for configuration a: x"
