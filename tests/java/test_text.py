from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.java.text import java_class_name, java_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        ("x", "x"),
        (["g", None, False], "[g, null, false]"),
        ({"a": "b", "c": 1.0}, "{a=b, c=1.0}"),
        (2.0**60, "1.15292150460684698E18"),
    ],
)
def test_values_print_as_in_java(value: object, expected: str) -> None:
    assert java_text(value) == expected


class Router:
    java_name = "org.example.Router"


class OwnRouter(Router):
    pass


class OwnError(DataError):
    pass


def test_a_plugin_has_its_own_name_and_none_of_a_class_above() -> None:
    assert java_class_name(Router) == "org.example.Router"
    assert java_class_name(OwnRouter) == f"{__name__}.OwnRouter"
    assert java_text(OwnRouter) == f"class {__name__}.OwnRouter"


def test_an_exception_has_the_name_of_the_nearest_class_that_java_knows() -> None:
    assert java_class_name(OwnError) == java_class_name(DataError) == "org.apache.kafka.connect.errors.DataException"
    assert java_class_name(ConfigError) == "org.apache.kafka.common.config.ConfigException"
    assert java_class_name(ValueError) == "ValueError"
