"""Users write regular expressions, and no pattern may hold a process: neither by its time nor by the interpreter's
lock.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from pathlib import Path

import pytest

from penstock.api.config import ConfigValue
from penstock.core.config.sink import DLQ_TOPIC, TOPICS_REGEX, check_topics
from penstock.java.errors import JavaError, MatchTimeoutError, PatternError
from penstock.java.regex import compile_regex, full_match, replace_all
from penstock.java.regex import compiler as regex_compiler
from penstock.pipeline.transforms.predicates import TopicNameMatches
from penstock.pipeline.transforms.routers import RegexRouter

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "pipeline" / "converters" / "golden" / "answers.jsonl.gz"
ENDLESS = r"(?:a|aa|(a)\1?)+(?:x|[yz]$)"
NAME = "a" * 240


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matching ends after a tenth of its time."""
    monkeypatch.setattr("penstock.java.regex.pattern.TIMEOUT_S", 0.2)


def test_a_match_that_would_not_end_ends() -> None:
    with pytest.raises(MatchTimeoutError, match=r"The regular expression .* can't be matched with 'aaaa.*' within 2 s"):
        compile_regex(ENDLESS).fullmatch(NAME)


def test_other_threads_run_meanwhile() -> None:
    """They do not if the interpreter's lock is held: then this thread gets its turn when the match is over."""
    pattern, turns, over = compile_regex(ENDLESS), 0, threading.Event()

    def match() -> None:
        with pytest.raises(MatchTimeoutError):
            pattern.fullmatch(NAME)
        over.set()

    thread = threading.Thread(target=match)
    thread.start()
    while not over.is_set():
        turns += 1
        time.sleep(0.005)
    thread.join()
    assert turns > 20


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a|aa)+$b?x",
        ".*" * 30 + "x",
        "(.*a){12}x",
        "a?" * 60 + "a" * 60 + "x",
        r"(?=(a+)+$)(a*)*\1*(?:b|c)*d",
        "(x|a)" + "(a|a)" * 50 + "y",
        "((a{0,1000}){0,1000})b",
        "(?iu)(a+)+b",
    ],
)
def test_patterns_that_hold_a_backtracking_matcher(pattern: str) -> None:
    try:
        assert compile_regex(pattern).fullmatch(NAME) is None
    except MatchTimeoutError:
        pass


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"\R*x", "\r\n" * 120), (r"(\R\R)*x", "\r\n" * 120), ("a*a*a*b", "a" * 100_000)],
    ids=["line ends", "pairs of line ends", "long text"],
)
def test_texts_that_hold_a_backtracking_matcher(pattern: str, text: str) -> None:
    """Such as the topic for dead letters of a configuration: what it may be called is checked later."""
    try:
        assert compile_regex(pattern).fullmatch(text) is None
    except MatchTimeoutError:
        pass


def test_a_long_text_is_matched_and_replaced_as_a_name_is() -> None:
    text = "ab-" * 200
    assert full_match(compile_regex("(?:ab-)*"), text)
    assert replace_all(compile_regex("(a)(b)"), "$2$1", text) == "ba-" * 200


def test_patterns_that_need_too_much_memory_are_refused() -> None:
    with pytest.raises(PatternError, match="more than 10000 repetitions"):
        compile_regex("(a{1000}){1000}b")
    with pytest.raises(PatternError, match="longer than 100000 characters"):
        compile_regex("a" * 100_001)


@pytest.mark.usefixtures("soon")
def test_a_dead_letter_topic_that_can_not_be_compared() -> None:
    values = {TOPICS_REGEX: ConfigValue(TOPICS_REGEX, ENDLESS)}
    check_topics({TOPICS_REGEX: ENDLESS, DLQ_TOPIC: NAME}, values, compile_regex)
    assert values[TOPICS_REGEX].errors[0].startswith(f"Invalid regex: The regular expression {ENDLESS} can't be")


@pytest.mark.usefixtures("soon")
def test_transforms_raise() -> None:
    router, predicate = RegexRouter(), TopicNameMatches()
    router.configure({"regex": ENDLESS, "replacement": "x"})
    predicate.configure({"pattern": ENDLESS})
    with pytest.raises(MatchTimeoutError):
        router._route(NAME)
    with pytest.raises(MatchTimeoutError):
        full_match(predicate._pattern, NAME)


def regex_cases() -> list[dict[str, object]]:
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        found = map(json.loads, lines)
        return [each for each in found if "pattern" in each["case"] and each["case"]["op"] in OPERATIONS]


OPERATIONS = ("match", "replace")


def test_both_engines_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pattern of the record of Java's answers, matched by ``re`` and within bounds."""
    fast, bounded = [], []
    texts = ["", "a", "abc", "ABC-12", "x\ny", "k\u212a", "a.b", "foo-bar_2024", "ä", "ÄÖ", "\u0130", "a b\t", "aXbX"]
    for few, results in ((10**9, fast), (-1, bounded)):
        monkeypatch.setattr(regex_compiler, "_FEW_CHOICES", few)
        regex_compiler.compile_regex.cache_clear()
        for case in regex_cases():
            try:
                pattern = compile_regex(case["case"]["pattern"])  # type: ignore[index]
            except JavaError as error:
                results.append(str(error))
                continue
            for text in texts:
                found = pattern.search(text)
                results.append((pattern.fullmatch(text) is not None, found and found.groups(), found and found.span()))
                if pattern.groups:
                    results.append(replace_all(pattern, "<$1>", text))
    regex_compiler.compile_regex.cache_clear()
    assert len(fast) > 1000
    assert bounded == fast
