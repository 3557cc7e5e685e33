"""Owners of checkpoint folders, without Spark."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.origin import OriginChangedError, OriginPolicy
from penstock.spark.query.source.checkpoint import BEGUN, DONE, SourceCheckpoint, folder_name, owner_of

pytestmark = pytest.mark.slow

Make = Callable[..., SourceCheckpoint]


@pytest.fixture
def checkpoint(java: Any, tmp_path: Path) -> Make:
    def make(connector: str, cluster: str = "k1", group: str = "g") -> SourceCheckpoint:
        configuration = java.org.apache.hadoop.conf.Configuration()
        return SourceCheckpoint(java, configuration, (tmp_path / "all").as_uri(), connector, owner_of(cluster, group))

    return make


def batches(folder: Path, *numbers: int) -> None:
    """Write Spark's logs of these batches."""
    for log in (BEGUN, DONE):
        (folder / log).mkdir(parents=True)
        for number in numbers:
            (folder / log / str(number)).write_text("v1")


def test_a_long_name_is_cut_off_and_is_still_no_others(tmp_path: Path) -> None:
    """Quoted, each of its characters takes nine."""
    names = ["注" * 28, "注" * 29, "注" * 29 + "文", "x" * 256]
    for name in names:
        (tmp_path / folder_name(name)).mkdir()
    assert len(list(tmp_path.iterdir())) == len(names)
    assert folder_name("x" * 255) == "x" * 255


@pytest.mark.parametrize("connector", ["..", "."])
def test_a_connector_named_like_another_folder_has_one_of_its_own(
    checkpoint: Make, tmp_path: Path, connector: str
) -> None:
    batches(tmp_path, 0, 1)
    batches(tmp_path / "all", 0, 1)
    checkpoint(connector).follow(None)
    checkpoint(connector).follow(-1)
    for folder in (tmp_path, tmp_path / "all"):
        assert sorted(each.name for each in (folder / DONE).iterdir()) == ["0", "1"]


@pytest.mark.parametrize("other", [{"cluster": "k2"}, {"group": "h"}])
def test_the_checkpoint_of_a_connector_in_another_cluster_is_not_touched(
    checkpoint: Make, tmp_path: Path, other: dict[str, str]
) -> None:
    folder = tmp_path / "all" / "c"
    checkpoint("c").follow(None)
    batches(folder, 0, 1)
    with pytest.raises(ConnectError, match=re.escape("belongs to the connector of this name in another cluster")):
        checkpoint("c", **other).follow(None)
    assert sorted(each.name for each in (folder / DONE).iterdir()) == ["0", "1"]
    checkpoint("c").follow(None)
    assert not (folder / DONE).exists()
    with pytest.raises(ConnectError, match="in another cluster"):
        checkpoint("c", **other).follow(None)


def test_an_offset_is_used_only_with_the_checkpoint_that_it_is_a_batch_of(checkpoint: Make, tmp_path: Path) -> None:
    folder = tmp_path / "all" / "c"
    own = checkpoint("c")
    own.follow(None)
    batches(folder, 0, 1)
    identity = own.identity()
    assert checkpoint("c").follow(1, identity) == 1
    assert checkpoint("c").follow(1, None) == 1, "an offset of an older version"
    checkpoint("other").follow(None)
    shutil.rmtree(folder)
    (tmp_path / "all" / "other").rename(folder)
    batches(folder, 0, 1)
    with pytest.raises(OriginChangedError, match=re.escape("is another one than that of the source offset, batch 1")):
        checkpoint("c").follow(1, identity)
    assert checkpoint("c").follow(1, identity, OriginPolicy.CONTINUE) == 1
    again = checkpoint("c")
    assert again.follow(1, identity, OriginPolicy.RESTART) is None
    assert not (folder / DONE).exists()
    assert again.identity() not in (identity, {"checkpoint": ""})


def test_a_checkpoint_that_is_gone_is_named_as_before(checkpoint: Make, tmp_path: Path) -> None:
    own = checkpoint("c")
    own.follow(None)
    batches(tmp_path / "all" / "c", 0, 1)
    shutil.rmtree(tmp_path / "all" / "c")
    with pytest.raises(ConnectError, match="knows no batch"):
        checkpoint("c").follow(1, own.identity())
