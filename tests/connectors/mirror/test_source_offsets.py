"""Offsets that a user wants to set, and Java's words for what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from penstock.connectors.mirror.source_offsets import OffsetsRefused

PARTITION = {"topic": "t", "partition": 0, "cluster": "a"}
GROUP = {"group": "g", "partition": 0, "topic": "t"}
CLUSTERS = {"sourceClusterAlias": "a", "targetClusterAlias": "b"}
SHOWN = "Source partition {cluster=a, partition=0, topic=t}"

REFUSED: list[tuple[Any, Any, Any, str]] = [
    (MirrorSourceConnector, None, {"offset": 1}, "Source partitions may not be null"),
    (
        MirrorSourceConnector,
        PARTITION,
        {"offset": "x"},
        "Source offset {offset=x} for source partition {cluster=a, partition=0, topic=t} has an invalid value x for "
        "the 'offset' key, which must be an integer",
    ),
    (
        MirrorSourceConnector,
        PARTITION,
        {"offset": -1},
        "Source offset {offset=-1} for source partition {cluster=a, partition=0, topic=t} has an invalid value -1 for "
        "the 'offset' key, which cannot be negative",
    ),
    (
        MirrorSourceConnector,
        PARTITION,
        {"place": 1},
        "Source offset {place=1} for source partition {cluster=a, partition=0, topic=t} is missing the 'offset' key, "
        "which is required",
    ),
    (
        MirrorSourceConnector,
        {"cluster": "a", "partition": 0},
        {"offset": 1},
        "Source partition {cluster=a, partition=0} is missing the 'topic' key, which is required",
    ),
    (
        MirrorSourceConnector,
        PARTITION | {"partition": "0"},
        {"offset": 1},
        f"{SHOWN} has an invalid value 0 for the 'partition' key, which must be an integer",
    ),
    (
        MirrorSourceConnector,
        PARTITION | {"partition": -2},
        {"offset": 1},
        "Source partition {cluster=a, partition=-2, topic=t} has an invalid value -2 for the 'partition' key, which "
        "cannot be negative",
    ),
    (
        MirrorCheckpointConnector,
        GROUP,
        {"offset": 1},
        "Source offset {offset=1} for source partition {partition=0, topic=t, group=g} has an invalid value 1 for the "
        "'offset' key; the only accepted value is 0",
    ),
    (
        MirrorHeartbeatConnector,
        {"sourceClusterAlias": 5, "targetClusterAlias": "b"},
        {"offset": 0},
        "Source partition {sourceClusterAlias=5, targetClusterAlias=b} has an invalid value 5 for the "
        "'sourceClusterAlias' key, which must be a string",
    ),
]


@pytest.mark.parametrize(("connector", "partition", "offset", "message"), REFUSED, ids=range(len(REFUSED)))
def test_malformed_offsets_are_refused_as_by_java(connector: Any, partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(OffsetsRefused) as refused:
        connector().alter_offsets({}, [(partition, offset)])
    assert str(refused.value) == message
    assert not isinstance(refused.value, ConnectError), "the answer to the client is 500, as Java's"


@pytest.mark.parametrize(
    ("connector", "partition", "offset"),
    [
        (MirrorSourceConnector, PARTITION, {"offset": 7}),
        (MirrorSourceConnector, {"whatever": 1}, None),
        (MirrorCheckpointConnector, GROUP, {"offset": 0}),
        (MirrorHeartbeatConnector, CLUSTERS, {"offset": 0}),
    ],
)
def test_valid_offsets_are_accepted(connector: Any, partition: Any, offset: Any) -> None:
    assert connector().alter_offsets({}, [(partition, offset)]) is True
