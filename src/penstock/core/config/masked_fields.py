"""Fields that a connector's own transforms mask: what shows its records to people masks them as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Props = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class MaskedFields:
    """Names of fields that are masked wherever they are in a record."""

    names: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    """``key`` and ``value``, if fields of it are masked. One without fields, such as a text, is then masked whole."""

    def __bool__(self) -> bool:
        return bool(self.sides)


def masked_fields(props: Props) -> MaskedFields:
    """Return the fields that transforms whose class begins with ``Mask`` mask, by their names in the topic.

    Names before a ReplaceField that renames them count as well, and so does the last name of a path such as
    ``address.street``, since Flatten makes such names. More may be masked than what the transforms mask, never less.
    """
    names, sides = set[str](), set[str]()
    for alias in reversed(_listed(props.get("transforms"))):
        prefix = f"transforms.{alias}."
        simple = (props.get(f"{prefix}type") or "").strip().rpartition(".")[2]
        if simple.startswith("Mask"):
            fields = [*_listed(props.get(f"{prefix}fields")), *_listed(props.get(f"{prefix}field"))]
            names.update(_names(fields))
            sides.add("key" if simple.endswith("Key") else "value")
        elif simple.startswith("ReplaceField"):
            for pair in _listed(props.get(f"{prefix}renames")):
                before, _, after = pair.partition(":")
                if after.strip() in names:
                    names.add(before.strip())
    return MaskedFields(frozenset(names), frozenset(sides))


def _names(fields: list[str]) -> Iterator[str]:
    for field in fields:
        yield field
        yield field.rpartition(".")[2].strip("`")


def _listed(value: str | None) -> list[str]:
    return [each.strip() for each in (value or "").split(",") if each.strip()]
