"""``penstock run`` runs the plugin that is named, and no other one of its name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.embedded import EmbeddedError
from penstock.trial.plugin import other_modules, plugin_path, require_own_modules


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package as ``penstock new`` makes it."""
    module = tmp_path / "here" / "src" / "my_counting_source"
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    return tmp_path / "here"


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])


def test_a_package_that_is_not_installed(package: Path) -> None:
    assert not other_modules(plugin_path(package))


def test_a_package_that_is_installed_editable(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(package / "src", monkeypatch)
    assert not other_modules(plugin_path(package))


def test_another_one_is_installed(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "site-packages"
    (other / "my_counting_source").mkdir(parents=True)
    (other / "my_counting_source" / "__init__.py").touch()
    installed(other, monkeypatch)
    with pytest.raises(EmbeddedError) as raised:
        require_own_modules(plugin_path(package))
    assert str(package / "src" / "my_counting_source") in str(raised.value)
    assert str(other / "my_counting_source" / "__init__.py") in str(raised.value)


def test_a_file_with_the_name_of_a_part_of_python(tmp_path: Path) -> None:
    file = tmp_path / "json.py"
    file.touch()
    with pytest.raises(EmbeddedError, match=r"by the name of .*json\.py: .*json"):
        require_own_modules(plugin_path(file))


def test_a_name_that_no_module_can_have(tmp_path: Path) -> None:
    file = tmp_path / "no.module.py"
    file.touch()
    assert not other_modules(plugin_path(file))
