"""The chain of transforms that a configuration describes."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConfigError, ConnectError, DataError
from penstock.api.transform import Predicate, Transformation
from penstock.pipeline.chain import Chain
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, PipelineStage, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.trace import headline


class Append(Transformation):
    java_name = "x.Append"

    def configure(self, config: Any) -> None:
        self.config = config

    def apply_batch(self, batch: Batch) -> Batch:
        return batch.with_(values=[value + self.config["text"] for value in batch.values])


class DropLong(Transformation):
    """Drops values of more than one letter."""

    java_name = "x.DropLong"

    def configure(self, config: Any) -> None:
        pass

    def apply_batch(self, batch: Batch) -> Batch:
        return batch.select([i for i, value in enumerate(batch.values) if len(value) < 2])


class DropAll(Transformation):
    java_name = "x.DropAll"

    def configure(self, config: Any) -> None:
        pass

    def apply(self, record: Any) -> None:
        return None


class Once(Transformation):
    """Drops what it has seen before, marks what it has not, and refuses ``bad``."""

    java_name = "x.Once"

    def configure(self, config: Any) -> None:
        self.seen: set[str] = set()
        self.calls: list[str] = []

    def apply(self, record: Any) -> Any:
        (text,) = record.value
        self.calls.append(text)
        if text == "bad":
            raise DataError(text)
        if text in self.seen:
            return None
        self.seen.add(text)
        record.value.append("!")
        return record


class OnceInBatches(Once):
    java_name = "x.OnceInBatches"

    def apply_batch(self, batch: Batch) -> Batch:
        return super().apply_batch(batch)


class Vowel(Predicate):
    java_name = "x.Vowel"
    closed = 0

    def configure(self, config: Any) -> None:
        pass

    def test(self, record: Any) -> bool:
        return record.value[0][0] in "aeiou"

    def close(self) -> None:
        Vowel.closed += 1


class Second(Predicate):
    """True for every second record that it sees."""

    java_name = "x.Second"
    seen = 0

    def test(self, record: Any) -> bool:
        self.seen += 1
        return self.seen % 2 == 0


CLASSES = {each.java_name: each for each in (Append, DropLong, DropAll, Once, OnceInBatches, Vowel, Second)}


def resolve(kind: str, name: str) -> type:
    return CLASSES[name]


def applied(config: dict[str, str], *values: str) -> list[str]:
    n = len(values)
    batch = Batch.of("t", list(values), origin=SourceOrigin([{}] * n, [{"o": value} for value in values]))
    for step in Chain.build(config, resolve).steps:
        batch = step.apply(batch)
        assert isinstance(batch.origin, SourceOrigin)
        assert len(batch.origin.offsets) == len(batch)
        assert [offset["o"][0] for offset in batch.origin.offsets] == [value[0] for value in batch.values]
    return batch.values


def test_no_transforms_no_steps() -> None:
    assert Chain.build({}, resolve).steps == []


def test_transforms_run_in_the_order_given() -> None:
    config = {
        "transforms": "b, a",
        "transforms.a.type": "x.Append",
        "transforms.a.text": "1",
        "transforms.b.type": "x.Append",
        "transforms.b.text": "2",
    }
    assert applied(config, "x") == ["x21"]
    assert [(s.stage, s.plugin, s.alias) for s in Chain.build(config, resolve).steps] == [
        (PipelineStage.TRANSFORMATION, "x.Append", "b"),
        (PipelineStage.TRANSFORMATION, "x.Append", "a"),
    ]


class OwnAppend(Append):
    """A transform without a ``java_name`` of its own."""


def test_a_class_derived_from_another_is_called_by_its_own_name() -> None:
    config = {"transforms": "t", "transforms.t.type": "own", "transforms.t.text": "1"}
    (step,) = Chain.build(config, lambda kind, name: OwnAppend).steps
    assert step.plugin == f"{__name__}.OwnAppend"


def where(transform: str, negate: str | None = None) -> dict[str, str]:
    config = {
        "transforms": "t",
        "transforms.t.type": transform,
        "transforms.t.text": "!",
        "transforms.t.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "x.Vowel",
    }
    return config if negate is None else {**config, "transforms.t.negate": negate}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (where("x.Append"), ["a!", "b", "cc", "ee!", "d"]),
        (where("x.Append", "true"), ["a", "b!", "cc!", "ee", "d!"]),
        (where("x.DropLong"), ["a", "b", "cc", "d"]),
        (where("x.DropLong", "true"), ["a", "b", "ee", "d"]),
        (where("x.DropAll"), ["b", "cc", "d"]),
        (where("x.DropAll", "true"), ["a", "ee"]),
    ],
)
def test_a_predicate_says_for_which_records_a_transform_counts(config: dict[str, str], expected: list[str]) -> None:
    assert applied(config, "a", "b", "cc", "ee", "d") == expected


def test_all_or_none_of_the_records() -> None:
    assert applied(where("x.Append"), "a", "e") == ["a!", "e!"]
    assert applied(where("x.Append"), "b", "c") == ["b", "c"]


def of_lists(*texts: str) -> Batch:
    n = len(texts)
    origin = SourceOrigin([{}] * n, [{"o": i} for i in range(n)])
    return Batch.of("t", [[text] for text in texts], origin=origin)


@pytest.mark.parametrize("transform", ["x.Once", "x.OnceInBatches"])
def test_a_transform_sees_each_record_once_if_it_drops_some(transform: str) -> None:
    (step,) = Chain.build(where(transform), resolve).steps
    changed = step.apply(of_lists("a", "b", "e", "a", "a", "i", "x")).values
    assert changed == [["a", "!"], ["b"], ["e", "!"], ["i", "!"], ["x"]]


@pytest.mark.parametrize("tolerance", ["all", "none"])
@pytest.mark.parametrize("predicate", [False, True])
def test_a_transform_sees_each_record_once_if_it_fails_for_others(tolerance: str, predicate: bool) -> None:
    config = where("x.Once", "true") if predicate else {"transforms": "t", "transforms.t.type": "x.Once"}
    texts = ["b", "c", "b", "bad", "d", "c", "f", "bad", "bad", "g"]
    failed: list[RecordFailure] = []
    settings = ErrorSettings.of({"errors.tolerance": tolerance})
    handler = ErrorHandler(settings, Metrics(lambda values: None, ()), lambda seconds: False, (failed.append,))
    once = Once()
    chain = Chain.build(config, lambda kind, name: Vowel if kind == "predicate" else lambda: once)  # type: ignore[arg-type]
    batch, error = handler.run_until(chain.steps, of_lists(*texts))
    assert once.calls == (texts if tolerance == "all" else texts[:4])
    there = "bcdfg" if tolerance == "all" else "bc"
    assert batch.values == [[text, "!"] for text in there]
    assert [failure.record.values for failure in failed] == [[["bad"]]] * (3 if tolerance == "all" else 1)
    assert (error is None) == (tolerance == "all")
    assert all(isinstance(failure.error, DataError) for failure in failed)


def test_a_predicate_sees_each_record_once_if_the_transform_fails_for_others() -> None:
    config = {**where("x.Once"), "predicates.p.type": "x.Second"}
    handler = ErrorHandler(
        ErrorSettings.of({"errors.tolerance": "all"}), Metrics(lambda values: None, ()), lambda seconds: False
    )
    batch = handler.run(Chain.build(config, resolve).steps, of_lists("a", "bad", "c", "d", "e"))
    assert batch.values == [["a"], ["c"], ["d", "!"], ["e"]]


@pytest.mark.parametrize(("negate", "is_true"), [("TRUE", True), (" true", False), ("true ", False), ("false", False)])
def test_negate_is_taken_as_it_is_written(negate: str, is_true: bool) -> None:
    assert applied(where("x.Append", negate), "a", "b") == (["a", "b!"] if is_true else ["a!", "b"])


def test_each_transform_has_a_predicate_of_its_own() -> None:
    two = {"transforms": "t,u", "transforms.u.type": "x.Append", "transforms.u.text": "?"}
    config = {**where("x.Append"), **two, "transforms.u.predicate": "p", "predicates.p.type": "x.Second"}
    assert applied(config, "a", "b", "c") == ["a", "b!?", "c"]


def test_the_transform_does_not_see_what_concerns_its_predicate(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(Append, "configure", lambda self, config: seen.append(config))
    Chain.build(where("x.Append", "true"), resolve)
    assert seen == [{"type": "x.Append", "text": "!"}]


def test_unknown_predicates_and_missing_classes_are_refused() -> None:
    with pytest.raises(ConnectError, match=r"ConfigException: Invalid value p for configuration predicate"):
        Chain.build({**where("x.Append"), "predicates": "other"}, resolve)
    with pytest.raises(ConnectError, match=r"ConfigException: Invalid value  for configuration predicate"):
        Chain.build({**where("x.Append"), "transforms.t.predicate": ""}, resolve)
    with pytest.raises(ConnectError, match=r'Missing required configuration "transforms.t.type"') as caught:
        Chain.build({"transforms": "t"}, resolve)
    assert headline(caught.value).startswith(
        "org.apache.kafka.connect.errors.ConnectException: org.apache.kafka.common.config.ConfigException: Missing"
    )
    assert isinstance(caught.value.__cause__, ConfigError)


class Half(Predicate):
    """Answers for the first half only."""

    java_name = "x.Half"

    def test_batch(self, batch: Batch) -> list[bool]:
        return [True] * (len(batch) // 2)


@pytest.mark.parametrize("transform", [DropAll, DropLong])
def test_a_predicate_answers_for_each_record(transform: type[Transformation]) -> None:
    config = {
        "transforms": "t",
        "transforms.t.type": "x.T",
        "transforms.t.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "x.Half",
    }
    (step,) = Chain.build(config, lambda kind, name: Half if kind == "predicate" else transform).steps
    with pytest.raises(ConnectError, match="test_batch returned 1 answers for 2 records"):
        step.apply(Batch.of("t", ["a", "b"]))


def test_closing_closes_predicates_too() -> None:
    before = Vowel.closed
    Chain.build(where("x.Append"), resolve).close()
    assert Vowel.closed == before + 1


def test_those_before_one_that_cannot_be_configured_are_closed() -> None:
    before = Vowel.closed
    with pytest.raises(ConnectError, match=r'"transforms\.u\.type"'):
        Chain.build({**where("x.Append"), "transforms": "t,u"}, resolve)
    assert Vowel.closed == before + 1
