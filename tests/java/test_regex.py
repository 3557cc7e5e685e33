"""Java's regular expressions; Java's own answers are in pipeline/converters/test_golden.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.java.errors import NoSuchGroupError, PatternError, ReplacementError
from penstock.java.regex import compile_regex, full_match, replace_all, replace_first


@pytest.mark.parametrize("pattern", ["(?<=a*)b", r"\G", r"\X", "(?U)a", r"\p{IsGreek}"])
def test_untranslatable_constructs_are_refused(pattern):
    with pytest.raises(PatternError):
        compile_regex(pattern)


@given(st.text())
def test_a_quoted_text_matches_itself_only(text):
    quoted = compile_regex("\\Q" + text.replace("\\E", "") + "\\E")
    assert full_match(quoted, text.replace("\\E", ""))
    assert not full_match(quoted, text.replace("\\E", "") + "x")


def test_replacing():
    pattern = compile_regex("(?<day>[0-9]+)-(x)?")
    assert replace_first(pattern, r"$1\$${day}[$2]", "12-, 13-x") == "12$12[], 13-x"
    assert replace_all(pattern, "$2", "12-, 13-x") == ", x"


def test_a_wrong_replacement_is_noticed_where_it_is_used():
    pattern = compile_regex("a")
    assert replace_first(pattern, "$", "b") == "b"
    with pytest.raises(ReplacementError, match="Illegal group reference: group index is missing"):
        replace_first(pattern, "$", "a")
    with pytest.raises(NoSuchGroupError, match="No group 1"):
        replace_all(pattern, "$1", "a")
