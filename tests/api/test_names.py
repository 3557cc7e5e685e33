"""Every name that an author of plugins needs can be imported from ``penstock.api`` itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from penstock import api

# Names for the runtime only, in modules that authors import.
_OF_THE_RUNTIME = {
    "UnusableClassError",
    "cause_of",
    "details_of",
    "message_of",
    "Column",
    "ConfigKeyInfo",
    "Late",
    "SelectedRows",
    "applied_batch",
    "even",
    "idle_seconds",
    "parse_type",
    "polled_batch",
    "ran",
    "selected",
    "task_class",
    "task_configs",
    "validated",
    "to_text",
}


def _is_provisional(module: str) -> bool:
    """Return whether the module is provisional: its names are imported from it, since they may still change."""
    return "Provisional" in (importlib.import_module(f"penstock.api.{module}").__doc__ or "")


MODULES = sorted(
    {found.name for found in pkgutil.iter_modules(api.__path__) if not _is_provisional(found.name)} - {"testing"}
)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_class_and_function_is_offered(module: str) -> None:
    found = importlib.import_module(f"penstock.api.{module}")
    public = {
        name
        for name, value in vars(found).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == found.__name__
        and not name.startswith("_")
        and name == value.__name__
    }
    missing = public - _OF_THE_RUNTIME - set(api.__all__)
    assert missing == set()
    assert all(getattr(api, name) is getattr(found, name) for name in public - _OF_THE_RUNTIME)


def test_what_is_offered_is_there() -> None:
    assert all(hasattr(api, name) for name in api.__all__)


def test_the_names_of_before_still_count() -> None:
    from penstock.api import config, schema

    assert config.Type is api.ConfigType
    assert schema.Type is api.SchemaType
