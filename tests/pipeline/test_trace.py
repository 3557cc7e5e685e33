from __future__ import annotations

from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from penstock.api.errors import ConnectError, DataError
from penstock.pipeline.trace import MAX_TRACE, causes, headline, trace


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as e:
        return e


def test_the_root_cause_follows_the_error_immediately() -> None:
    root = raised(DataError("no number"))
    lines = trace(raised(ConnectError("over"), raised(ValueError("between"), root))).splitlines()
    assert lines[:3] == [
        "org.apache.kafka.connect.errors.ConnectException: over",
        "Caused by: ValueError: between",
        "Caused by: org.apache.kafka.connect.errors.DataException: no number",
    ]
    assert lines[3].startswith("\tat raised(")


def test_an_error_without_a_message_is_its_class() -> None:
    assert trace(KeyError()) == "KeyError\n"


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("no/such", "java.nio.file.NoSuchFileException: no/such"),
        ("/", "java.nio.file.FileSystemException: /: Is a directory"),
    ],
)
def test_errors_of_files_are_java_s(path: str, first: str) -> None:
    with pytest.raises(OSError, match=path) as found:
        Path(path).read_bytes()
    assert headline(found.value) == first


def test_an_error_of_http_is_no_error_of_a_file() -> None:
    error = HTTPError("http://registry/subjects", 404, "Not Found", Message(), None)
    assert headline(error) == "urllib.error.HTTPError: HTTP Error 404: Not Found"
    error.close()


def test_what_was_being_handled_is_a_cause_too() -> None:
    def fail() -> None:
        try:
            raise ValueError("first")
        except ValueError:
            raise KeyError("second")  # noqa: B904

    with pytest.raises(KeyError) as found:
        fail()
    assert [type(each) for each in causes(found.value)] == [KeyError, ValueError]


def test_what_is_raised_again_while_it_is_handled_is_shown_once() -> None:
    def fail() -> None:
        try:
            raise noted
        finally:
            raise ValueError("the same")

    noted = ValueError("the same")
    noted.add_note("where")
    with pytest.raises(ValueError, match="the same") as found:
        fail()
    assert causes(found.value) == [noted]
    assert len(causes(raised(ValueError("a"), ValueError("a")))) == 2, "a cause that was given stays"


def test_errors_that_cause_each_other_come_to_an_end() -> None:
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    assert causes(one) == [one, two]
    one, two = ValueError("the same"), ValueError("the same")
    one.__context__, two.__context__ = two, one
    assert causes(one) == [two]


@pytest.mark.parametrize("said", [lambda error: None, lambda error: error.missing])
def test_an_error_that_can_not_say_its_message_is_shown_all_the_same(said: Any) -> None:
    class Wordless(Exception):
        def __str__(self) -> str:
            return said(self)

    assert "Wordless: (no message: its __str__ has raised " in trace(Wordless()).splitlines()[0]


class DuplicateError(Exception):
    """An error like that of a driver which only a plugin has."""

    sqlstate = "23505"


def test_the_sqlstate_of_a_databases_error_is_shown() -> None:
    lines = trace(raised(ConnectError("not written"), raised(DuplicateError("there already")))).splitlines()
    assert lines[1].endswith("DuplicateError: there already")
    assert "\tSQLSTATE 23505" in lines


def test_the_cause_of_a_group_is_named() -> None:
    group = raised(ExceptionGroup("two", [ValueError("one")]), OSError("disk gone"))
    assert "\tthe group was caused by OSError: disk gone" in trace(group).splitlines()


def test_groups_of_many_and_of_large_errors_have_a_trace_of_limited_length() -> None:
    nested: Exception = ValueError("inmost")
    for _ in range(2000):
        nested = ExceptionGroup("outer", [KeyError("x"), nested])
    assert trace(nested).count("\n") < 1000
    large = ExceptionGroup("large", [ValueError("x" * 3_000_000) for _ in range(20)])
    large.add_note("y" * 9_000_000)
    assert len(trace(large)) < MAX_TRACE + 100


def test_the_errors_of_a_group_are_its_causes() -> None:
    first, second = raised(ValueError("one")), raised(DuplicateError("two"), KeyError("three"))
    group = ExceptionGroup("unhandled errors in a TaskGroup", [first, second])  # type: ignore[list-item]
    text = trace(raised(ConnectError("over"), raised(group)))
    lines = text.splitlines()
    assert "Caused by: ValueError: one" in lines[:3]
    assert any(line.endswith("DuplicateError: two") for line in lines)
    assert "\tSQLSTATE 23505" in lines
    assert lines[lines.index("\tSQLSTATE 23505") + 1] == "\tcaused by KeyError: 'three'"


def test_a_huge_message_leaves_room_for_the_cause() -> None:
    text = trace(raised(ConnectError("x" * 3_000_000), raised(ValueError("why"))))
    assert len(text) < 2_000_000
    assert "(2000000 more characters)\nCaused by: ValueError: why\n" in text
