from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from penstock.api import ConfigError, Password, Setting, TypedConfig, at_least


@dataclass(frozen=True)
class Everything(TypedConfig):
    url: Annotated[str, Setting("The address.")]
    count: Annotated[int, Setting("A number.", at_least(1))] = 3
    rate: Annotated[float, Setting("A rate.")] = 0.5
    on: Annotated[bool, Setting("A switch.")] = False
    names: Annotated[list[str], Setting("Names.")] = field(default_factory=list)
    password: Annotated[Password | None, Setting("A secret.", name="api.password")] = None
    order: Annotated[Literal["asc", "desc"], Setting("An order.")] = "asc"
    note: Annotated[str | None, Setting("A note.")] = None


def test_values_have_their_types() -> None:
    given = {"url": "u", "count": "7", "rate": "1.5", "on": "true", "names": "a, b", "api.password": "p", "note": "n"}
    read = Everything.of(given)
    assert (read.url, read.count, read.rate, read.on, read.names, read.note) == ("u", 7, 1.5, True, ["a", "b"], "n")
    assert isinstance(read.password, Password)
    assert read.password.value == "p"
    assert Everything.of({"url": "u"}) == Everything("u")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, 'Missing required configuration "url"'),
        ({"url": ""}, "url"),
        ({"url": "u", "count": "0"}, "at least 1"),
        ({"url": "u", "count": "x"}, "Not a number"),
        ({"url": "u", "order": "up"}, "asc, desc"),
    ],
)
def test_wrong_values(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Everything.of(given)


def test_every_setting_is_documented_and_shown() -> None:
    keys = Everything.config_def().keys
    assert list(keys) == ["url", "count", "rate", "on", "names", "api.password", "order", "note"]
    assert all(key.info().documentation for key in keys.values())
    assert [name for name, key in keys.items() if key.info().required] == ["url"]


def test_what_no_setting_can_be() -> None:
    @dataclass
    class Wrong(TypedConfig):
        it: Annotated[dict[str, str], Setting("A map.")]

    @dataclass
    class Bare(TypedConfig):
        it: int

    with pytest.raises(TypeError, match="it can't be dict"):
        Wrong.config_def()
    with pytest.raises(TypeError, match="must be Annotated with a Setting"):
        Bare.config_def()
