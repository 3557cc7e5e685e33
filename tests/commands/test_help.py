"""``penstock help``: every setting is known and documented."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from penstock.commands._reference import Reference
from penstock.plugins import Plugins


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference(Plugins.discover().catalog)


def test_no_setting_is_without_documentation(reference: Reference) -> None:
    settings = [(owner.name, key) for owner in reference.owners for key in owner.settings.values()]
    assert len(settings) > 800
    assert [(owner, key.name) for owner, key in settings if not key.documentation.strip()] == []


def test_a_setting_of_clients_has_documentation_of_its_own(reference: Reference) -> None:
    """Not Kafka's by reference, nor one text for several settings with their names filled in."""
    for owner in reference.owners:
        texts = {name: key.documentation for name, key in owner.settings.items()}
        assert [name for name, text in texts.items() if "see Kafka's" in text] == []
        if owner.name.endswith("of a connector") or ".mirror." in owner.name:
            bare = [text.replace(name, "") for name, text in texts.items()]
            assert [name for name, text in texts.items() if bare.count(text.replace(name, "")) > 1] == []


def test_every_setting_is_found_by_the_name_it_has_in_a_configuration(reference: Reference) -> None:
    for owner in reference.owners:
        for name, key in owner.settings.items():
            assert (owner, key) in reference.settings(owner.prefix.replace("<alias>", "mine") + name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("errors.tolerance", "a setting of every connector"),
        ("offset.flush.interval.ms", "a setting of a worker"),
        ("value.converter.schemas.enable", "a setting of org.apache.kafka.connect.json.JsonConverter"),
        ("transforms.one.negate", "a setting of every transform"),
        ("consumer.override.max.poll.records", "a setting of the consumer of a connector"),
        ("topic.creation.big.partitions", "a setting of a topic creation group of a source connector"),
        ("linger.ms", "a setting of the producer of a connector, with the prefix producer.override."),
    ],
)
def test_a_setting(penstock: Any, name: str, expected: str) -> None:
    said = penstock("help", name)
    assert said.exit_code == 0
    assert said.stdout.startswith(f"{name}\n  {expected}\n")


@pytest.mark.parametrize("name", ["HoistField", "HoistField$Value", "org.apache.kafka.connect.transforms.HoistField"])
def test_a_plugin(penstock: Any, name: str) -> None:
    said = penstock("help", name)
    assert "org.apache.kafka.connect.transforms.HoistField$Value\n  Transformation, version" in said.stdout
    assert (
        "  its settings begin with transforms.<alias>.\n\nfield\n  string, required, importance medium\n" in said.stdout
    )


def test_json(penstock: Any) -> None:
    rows: list[Mapping[str, Any]] = json.loads(penstock("help", "errors.tolerance", "-o", "json").stdout)
    assert {"of", "name", "type", "default_value", "documentation", "valid"} <= rows[0].keys()


def test_what_there_is_not(penstock: Any) -> None:
    said = penstock("help", "erors.tolerance")
    assert (said.exit_code, said.stderr) == (
        1,
        "penstock: There is no setting and no plugin `erors.tolerance`. Did you mean errors.tolerance?\n",
    )
