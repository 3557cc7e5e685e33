"""Paths as they stand in a request's first line."""

from __future__ import annotations

import pytest

from penstock.core.model.messages import Refused
from penstock.http.paths import Path

CONFIG = ("connectors", "{name}", "config")


@pytest.mark.parametrize(
    "segment", ["a\\b", 'a"b', "a|b", "a^b", "a`b", "{a}", "[a]", "a<b", "a b", "\u00e9", "%zz", "%", "a%0", "a%00b"]
)
def test_illegal_paths(segment: str) -> None:
    with pytest.raises(Refused) as refused:
        Path.parse(f"/connectors/{segment}/config")
    assert refused.value.status == 400


@pytest.mark.parametrize("path", ["*", "connectors", "", "http://host/connectors"])
def test_paths_begin_with_a_slash(path: str) -> None:
    with pytest.raises(Refused):
        Path.parse(path)


@pytest.mark.parametrize(
    ("escaped", "name", "ambiguous"),
    [
        ("a", "a", False),
        ("a%20b", "a b", False),
        ("a%2Fb", "a/b", True),
        ("a%252Fb", "a%2Fb", True),
        ("a%5cb", "a\\b", True),
        ("%2e%2E", "..", True),
        ("..", "..", False),
        ("%2Ea", ".a", False),
        ("a;b=c", "a", False),
        ("a;b;c=%zz", "a", False),
        ("a;%2F", "a", False),
        ("a%3Bb", "a;b", False),
        ("%E6%97%A5", "日", False),
        ("%1F", "\x1f", True),
    ],
)
def test_names(escaped: str, name: str, ambiguous: bool) -> None:
    path = Path.parse(f"/connectors/{escaped}/config/")
    assert (path.match(CONFIG), path.ambiguous) == ({"name": name}, ambiguous)


@pytest.mark.parametrize("path", ["/connectors/;x/config", "/;/connectors", "/connectors/..;/config", "/.;a"])
def test_parameters_without_a_segment_or_after_dots_are_refused(path: str) -> None:
    with pytest.raises(Refused, match="Ambiguous URI"):
        Path.parse(path)


@pytest.mark.parametrize(
    "path", ["/", "/connectors", "/connectors/a", "/connectors/a/Config", "/connectors/a/config/b"]
)
def test_other_paths_do_not_match(path: str) -> None:
    assert Path.parse(path).match(CONFIG) is None


def test_invalid_utf8_is_refused_only_in_matching_paths() -> None:
    path = Path.parse("/connectors/%FF/config")
    assert path.match(("connectors",)) is None
    with pytest.raises(Refused, match="Bad UTF-8 encoding"):
        path.match(CONFIG)
