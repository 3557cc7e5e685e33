"""The ID of a topic that a request to skip records of it is checked and stored with."""

from __future__ import annotations

import pytest

from penstock.core.model.messages import Refused
from penstock.worker.skips import id_of


def test_a_topic_that_a_broker_does_not_know_for_a_moment_is_refused_instead_of_skipped_without_its_id() -> None:
    with pytest.raises(Refused, match="don't know the ID of topic t now; try again") as refused:
        id_of("t", {})
    assert refused.value.status == 500


def test_brokers_without_ids_of_topics_give_none() -> None:
    assert id_of("t", {"t": None}) == ""
    assert id_of("t", {"t": "abc"}) == "abc"
