"""Fields that a connector's own transforms mask: what shows its records to people masks them as well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Props = Mapping[str, str | None]

KEY, VALUE = "key", "value"
BOTH = frozenset({KEY, VALUE})
KAFKA = "org.apache.kafka.connect.transforms"
KEEPS_NAMES = frozenset(
    {
        *("Cast", "DropHeaders", "Filter", "HeaderFrom", "InsertField", "InsertHeader", "RegexRouter", "ReplaceField"),
        *("SetSchemaMetadata", "TimestampConverter", "TimestampRouter", "ValueToKey"),
    }
)
"""Transforms of Kafka behind which a field has the name that it has in the topic, apart from renames."""
UNWRAPS = ("io.debezium.transforms", "ExtractNewRecordState")
"""Package and name of Debezium's transform that returns the row of an envelope, whose fields keep their names."""
RESHAPES = frozenset({"ExtractField", "Flatten", "HoistField"})
"""Transforms of Kafka that make other fields of their own side of a record."""
PLAIN_NAME = re.compile(r"[\w.\- $/@]+")
"""Names of fields that are no patterns or quoted paths."""


@dataclass(frozen=True, slots=True)
class MaskedFields:
    """Fields that are masked, by their names, wherever they are in a record.

    If there are any, the values of headers, and keys and values that have no fields, are masked whole: they may hold
    the same data.
    """

    names: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    """``key`` and ``value``, if it is not known by which names its masked fields are in the topic."""
    masks: bool = False
    """Whether there are any."""

    def __bool__(self) -> bool:
        return self.masks


@dataclass(frozen=True, slots=True)
class _Transform:
    package: str
    name: str
    """Name of the class without its package and ``$Key`` or ``$Value``."""
    side: str
    """``Key``, ``Value`` or empty."""
    settings: Mapping[str, str]

    @property
    def is_mask(self) -> bool:
        return self.name.startswith("Mask")

    @property
    def keeps_names(self) -> bool:
        known = self._is_kafkas and self.name in KEEPS_NAMES
        return known or self.is_mask or (self.package, self.name) == UNWRAPS

    @property
    def reshapes(self) -> bool:
        return self._is_kafkas and self.name in RESHAPES

    @property
    def copies(self) -> bool:
        """True if it copies fields of the value to the key."""
        return self._is_kafkas and self.name == "ValueToKey"

    @property
    def sides(self) -> frozenset[str]:
        return frozenset({self.side.lower()}) if self.side else BOTH

    @property
    def _is_kafkas(self) -> bool:
        return self.package in ("", KAFKA)


def masked_fields(props: Props, written: bool = False) -> MaskedFields:
    """Return the fields that transforms whose class begins with ``Mask`` mask, by their names in the topic.

    ``written``: the connector is a source, and the topic is behind its transforms, where records from before the mask
    was configured may be. Names that a ReplaceField between topic and mask changes are followed. More may be masked
    than what the transforms mask, never less: if the names are not known, a whole side of the record is.
    """
    from_topic = [_transform(props, alias) for alias in _listed(props.get("transforms"))]
    if written:
        from_topic.reverse()
    names, whole, found = set[str](), set[str](), False
    for i, transform in enumerate(from_topic):
        if not transform.is_mask:
            continue
        found = True
        between = from_topic[:i]
        fields = [*_listed(transform.settings.get("fields")), *_listed(transform.settings.get("field"))]
        if not fields or not all(PLAIN_NAME.fullmatch(field) for field in fields):
            whole |= transform.sides
        whole |= _reshaped(transform, between)
        names |= _in_topic(set(_names(fields)), between, written)
    return MaskedFields(frozenset(names), frozenset(whole), found)


def _reshaped(mask: _Transform, between: list[_Transform]) -> frozenset[str]:
    """Return the sides whose fields have, in the mask, other names than in the topic, or may be on the other side."""
    unknown = any(not each.keeps_names and not each.reshapes for each in between)
    reshaped = frozenset[str]().union(*(each.sides for each in between if each.reshapes))
    if unknown or (reshaped and any(each.copies for each in between)):
        return BOTH
    return mask.sides & reshaped


def _in_topic(names: set[str], between: list[_Transform], written: bool) -> set[str]:
    """Return these names of fields of a mask, and those that they had or get between it and the topic."""
    for transform in reversed(between):
        if transform.name == "ReplaceField":
            for pair in _listed(transform.settings.get("renames")):
                before, _, after = (each.strip() for each in pair.partition(":"))
                inner, outer = (before, after) if written else (after, before)
                if inner in names:
                    names.add(outer)
    return names


def _transform(props: Props, alias: str) -> _Transform:
    prefix = f"transforms.{alias}."
    package, _, nested = (props.get(f"{prefix}type") or "").strip().rpartition(".")
    name, _, side = nested.partition("$")
    settings = {key.removeprefix(prefix): value or "" for key, value in props.items() if key.startswith(prefix)}
    return _Transform(package, name, side if side in ("Key", "Value") else "", settings)


def _names(fields: list[str]) -> Iterator[str]:
    for field in fields:
        yield field
        yield field.rpartition(".")[2]


def _listed(value: str | None) -> list[str]:
    return [each.strip() for each in (value or "").split(",") if each.strip()]
