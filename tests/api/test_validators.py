from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.api.validators import (
    CaseInsensitiveValidString,
    Composite,
    Described,
    ListOf,
    ListSize,
    Matches,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Validator,
    ValidList,
    ValidString,
    at_least,
    between,
)


@pytest.mark.parametrize(
    ("validator", "value", "problem"),
    [
        (at_least(1), 0, "Invalid value 0 for configuration k: Value must be at least 1"),
        (between(0, 9), 10, "Invalid value 10 for configuration k: Value must be no more than 9"),
        (at_least(1), None, "Invalid value null for configuration k: Value must be non-null"),
        (
            ValidString("none", "all"),
            "some",
            "Invalid value some for configuration k: String must be one of: none, all",
        ),
        (
            CaseInsensitiveValidString("poll", "interval", "connector"),
            "x",
            "Invalid value x for configuration k: String must be one of (case insensitive): INTERVAL, POLL, CONNECTOR",
        ),
        (NonNull(), None, "Invalid value null for configuration k: entry must be non null"),
        (NonEmptyString(), "", "Invalid value  for configuration k: String must be non-empty"),
        (NonEmptyStringWithoutControlChars(), "", "Invalid value  for configuration k: String may not be empty"),
        (
            NonEmptyStringWithoutControlChars(),
            "a\nb\x85",
            "Invalid value a\nb\x85 for configuration k: String may not contain control sequences but had the "
            "following ASCII chars: 10, 133",
        ),
        (ListSize(1), ["a", "b"], "Invalid value [a, b] for configuration k: exceeds maximum list size of [1]."),
        (ValidList(), None, "Configuration 'k' values must not be null."),
        (ValidList(), ["a", "a"], "Configuration 'k' values must not be duplicated."),
        (ValidList(), ["a", ""], "Configuration 'k' values must not be empty."),
        (
            ValidList(empty_allowed=False),
            [],
            "Configuration 'k' must not be empty. Valid values include: any non-empty value",
        ),
        (
            ValidList("a", "b", empty_allowed=False),
            [],
            "Configuration 'k' must not be empty. Valid values include: [a, b]",
        ),
        (ValidList("a", "b"), ["c"], "Invalid value c for configuration k: String must be one of: a, b"),
        (
            Matches("[a-z]+"),
            "A",
            "Invalid value A for configuration k: String must match the regular expression [a-z]+",
        ),
        (ListOf(at_least(1)), [1, 0], "Invalid value 0 for configuration k: Value must be at least 1"),
        (Composite(NonNull(), at_least(5)), 4, "Invalid value 4 for configuration k: Value must be at least 5"),
        (Described(at_least(5), "big"), 4, "Invalid value 4 for configuration k: Value must be at least 5"),
    ],
)
def test_complaints(validator: Validator, value: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validator("k", value)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (at_least(1), 1),
        (between(0, 1.5), 1.5),
        (ValidString("none", "all"), "all"),
        (CaseInsensitiveValidString("poll"), "Poll"),
        (NonEmptyString(), None),
        (NonEmptyStringWithoutControlChars(), None),
        (NonEmptyStringWithoutControlChars(), "日本 +"),
        (ValidList(null_allowed=True), None),
        (ValidList(), []),
        (Matches("a.*"), "abc"),
        (Composite(), object()),
    ],
)
def test_good_values_pass(validator: Validator, value: Any) -> None:
    assert validator("k", value) is None


@pytest.mark.parametrize(
    ("validator", "description"),
    [
        (at_least(1), "[1,...]"),
        (between(0.5, 1.0), "[0.5,...,1.0]"),
        (ValidString("a", "b"), "[a, b]"),
        (CaseInsensitiveValidString("poll", "interval", "connector"), "(case insensitive) [INTERVAL, POLL, CONNECTOR]"),
        (Composite(NonNull(), at_least(1)), "non-null string, [1,...]"),
        (Described(at_least(1), "something big"), "something big"),
    ],
)
def test_descriptions(validator: Validator, description: str) -> None:
    assert str(validator) == description
