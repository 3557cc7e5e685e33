from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hosts.plugins import plugin_path

pytestmark = pytest.mark.integration

SMALL = ("conduct", "chain", "defined", "everything", "library1", "library2", "bundled")


@pytest.mark.parametrize("name", SMALL)
def test_the_classes_that_a_small_plugin_offers_are_in_its_jar(name: str, tmp_path: Path) -> None:
    plugin_path(tmp_path, name)
    (jar,) = (tmp_path / name).iterdir()
    with zipfile.ZipFile(jar) as archive:
        names = archive.namelist()
        services = [each for each in names if each.startswith("META-INF/services/")]
        offered = " ".join(archive.read(each).decode() for each in services).split()
    assert offered
    assert {f"{each.replace('.', '/')}.class" for each in offered} <= set(names)
