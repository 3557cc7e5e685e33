from __future__ import annotations

from penstock.api.batch import Batch
from penstock.api.record import Header
from penstock.pipeline.transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches


def configured(predicate, **config):
    predicate.configure(config)
    return predicate


def test_batch_and_record_are_judged_alike():
    batch = Batch.of(
        ["a", "b", "ab"],
        [1, None, 3],
        headers=[(Header("k", None, "x"), Header("k", None, "y")), (), (Header("K", None, "x"),)],
    )
    for predicate, expected in (
        (configured(TopicNameMatches(), pattern="a.?"), [True, False, True]),
        (configured(TopicNameMatches(), pattern="b"), [False, True, False]),
        (configured(HasHeaderKey(), name="k"), [True, False, False]),
        (configured(RecordIsTombstone()), [False, True, False]),
    ):
        assert predicate.test_batch(batch) == expected
        assert [predicate.test(row) for row in batch.rows()] == expected


def test_a_topic_must_match_as_a_whole_by_javas_rules():
    predicate = configured(TopicNameMatches(), pattern="\\Qa.b\\E-\\p{Digit}++")
    assert predicate.test_batch(Batch.of(["a.b-12", "axb-12", "a.b-12x", "xa.b-1"], [0] * 4)) == [
        True,
        False,
        False,
        False,
    ]
