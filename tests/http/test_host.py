"""The header ``Host``; what is refused is what Java's server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from support.rest.errors import assert_refused


@pytest.mark.parametrize(
    "host", ["a", "a_b:8083", "a%20b", "1.2.3.4:080", "[::1]", "[::ffff:1.2.3.4]:80", "::1", "*", "-a.", "a:65535"]
)
def test_hosts(api: Any, host: str) -> None:
    assert api.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "a b",
        "a/b",
        "u@a",
        "a%zz",
        "a:",
        "a:0",
        "a:x",
        "a:65536",
        "a:-1",
        "a: 80",
        "[]",
        "[::1%25a]",
        "[::1",
        "a[b",
        '"',
        "a?b",
    ],
)
def test_invalid_hosts_are_400(api: Any, host: str) -> None:
    assert_refused(api.get("/", headers={"Host": host}), 400, "Bad HostPort")
