from __future__ import annotations

import pytest

from penstock.java.errors import PropertiesError
from penstock.java.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("  a:b\n\n# c=d\n ! e=f", {"a": "b"}),
        ("a b=c", {"a": "b=c"}),
        ("a\tb", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x,\\\n    y,\\\r\n   z", {"a": "x,y,z"}),
        ("a=x\\\\\nb=y", {"a": "x\\", "b": "y"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        (r"a=\t\n\q\\x", {"a": "\t\nq\\x"}),
        (r"a=\u00e9\uD83D\uDE00", {"a": "é😀"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\n# no comment", {"a": "b# no comment"}),
        ("=v", {"": "v"}),
        ("key = = v", {"key": "= v"}),
        ("a=1\rb=2", {"a": "1", "b": "2"}),
        ("", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, settings: dict[str, str]) -> None:
    assert parse_properties(text) == settings


def test_a_broken_escape() -> None:
    with pytest.raises(PropertiesError, match="Malformed"):
        parse_properties(r"a=\u12x4")


@pytest.mark.parametrize("line", [r"password=my\user", r"my\user", "password=a,\\\n  my\\user"])
def test_a_broken_escape_is_found_by_its_line_which_is_not_shown(line: str) -> None:
    """The line may be in a file of secrets, and the error in an answer to a user who refers to another of its keys."""
    with pytest.raises(PropertiesError) as raised:
        parse_properties(f"# secrets\n\n{line}\nb=2")
    number = 3 + line.count("\n")
    assert str(raised.value) == (
        f"Malformed \\uxxxx encoding in line {number}: expected four hexadecimal digits after \\u"
    )
