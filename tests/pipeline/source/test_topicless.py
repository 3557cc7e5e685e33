"""Records without a topic fail their task with a message that says which ones they are."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.pipeline.source.loop import check_topics

ORIGIN = SourceOrigin([{"file": "a"}] * 3, [{"line": 1}, {"line": 2}, {"line": 3}])


@pytest.mark.parametrize(
    ("topic", "said"),
    [(None, "Topic cannot be null. "), ("", "Invalid topic: ''. "), (5, "Invalid topic: 5. ")],
)
def test_a_record_without_a_topic_is_named_by_its_origin(topic: Any, said: str) -> None:
    topics: Any = ["t", topic, "t"]
    batch = Batch.of(topics, [b"1", b"2", b"3"], origin=ORIGIN)
    with pytest.raises(ConnectError) as raised:
        check_topics(set(topics), batch)
    assert str(raised.value).startswith(said)
    assert str(raised.value).endswith("(source partition {'file': 'a'}, source offset {'line': 2})")
    check_topics({"t"}, batch.select((0, 2)))
