"""Fields that a connector's transforms mask, by their names in its topics."""

from __future__ import annotations

import pytest

from penstock.core.config.masked_fields import MaskedFields, masked_fields

SMT = "org.apache.kafka.connect.transforms."


def chain(**transforms: dict[str, str]) -> dict[str, str]:
    config = {"transforms": ", ".join(transforms)}
    for alias, settings in transforms.items():
        config |= {f"transforms.{alias}.{name}": value for name, value in settings.items()}
    return config


def test_a_connector_without_masks_has_none() -> None:
    assert not masked_fields({})
    assert not masked_fields(chain(hoist={"type": f"{SMT}HoistField$Value", "field": "ssn"}))


def test_fields_of_keys_and_values_are_named() -> None:
    masked = masked_fields(
        chain(
            value={"type": f"{SMT}MaskField$Value", "fields": "ssn, name"},
            key={"type": "MaskField$Key", "fields": "id"},
        )
    )
    assert masked
    assert masked == MaskedFields(frozenset({"ssn", "name", "id"}), frozenset(), masks=True)


def test_masks_of_other_plugins_count() -> None:
    masked = masked_fields(chain(m={"type": "com.example.MaskPhone", "field": "phone"}))
    assert (masked.names, masked.whole) == ({"phone"}, frozenset())


@pytest.mark.parametrize(
    ("mask", "whole"),
    [
        ({"type": "com.acme.MaskColumns", "columns": "ssn"}, {"key", "value"}),
        ({"type": "com.acme.MaskColumns$Value", "columns": "ssn"}, {"value"}),
        ({"type": "com.acme.MaskColumns$Key", "fields": "s.*n"}, {"key"}),
        ({"type": f"{SMT}MaskField$Value", "fields": "`a.b`"}, {"value"}),
    ],
)
def test_a_side_is_masked_whole_if_the_mask_names_no_fields(mask: dict[str, str], whole: set[str]) -> None:
    assert masked_fields(chain(mask=mask)).whole == whole


HOIST = {"type": f"{SMT}HoistField$Value", "field": "all"}
FLATTEN = {"type": f"{SMT}Flatten$Value", "delimiter": "_"}
EXTRACT_KEY = {"type": f"{SMT}ExtractField$Key", "field": "ssn"}
COPY = {"type": f"{SMT}ValueToKey", "fields": "ssn"}
OTHER = {"type": "com.acme.Rename", "from": "a"}
CAST = {"type": f"{SMT}Cast$Value", "spec": "ssn:string"}
UNWRAP = {"type": "io.debezium.transforms.ExtractNewRecordState"}


@pytest.mark.parametrize(
    ("before", "whole"),
    [
        ([HOIST], {"value"}),
        ([FLATTEN], {"value"}),
        ([{"type": "HoistField$Value", "field": "all"}], {"value"}),
        ([OTHER], {"key", "value"}),
        ([{"type": "com.acme.Cast$Value"}], {"key", "value"}),
        ([EXTRACT_KEY], set()),
        ([COPY], set()),
        ([COPY, EXTRACT_KEY], {"key", "value"}),
        ([CAST, UNWRAP], set()),
    ],
)
def test_a_side_is_masked_whole_if_fields_have_other_names_in_the_topic(
    before: list[dict[str, str]], whole: set[str]
) -> None:
    mask = {"type": f"{SMT}MaskField$Value", "fields": "all"}
    others = {f"t{i}": each for i, each in enumerate(before)}
    of_sink = masked_fields(chain(**others, mask=mask))
    assert (of_sink.names, of_sink.whole) == ({"all"}, whole)
    assert masked_fields(chain(mask=mask, **others)).whole == set()
    of_source = masked_fields(chain(mask=mask, **dict(reversed(others.items()))), written=True)
    assert of_source.whole == whole
    assert masked_fields(chain(**others, mask=mask), written=True).whole == set()


def test_a_field_that_was_renamed_before_is_masked_by_both_names() -> None:
    rename = {"type": f"{SMT}ReplaceField$Value", "renames": "nr:ssn,a:b"}
    mask = {"type": f"{SMT}MaskField$Value", "fields": "ssn"}
    assert masked_fields(chain(rename=rename, mask=mask)).names == {"nr", "ssn"}
    assert masked_fields(chain(mask=mask, rename=rename)).names == {"ssn"}


def test_a_field_that_is_renamed_before_it_is_written_is_masked_by_both_names() -> None:
    rename = {"type": f"{SMT}ReplaceField$Value", "renames": "ssn:nr,a:b"}
    mask = {"type": f"{SMT}MaskField$Value", "fields": "ssn"}
    assert masked_fields(chain(mask=mask, rename=rename), written=True).names == {"nr", "ssn"}
    assert masked_fields(chain(mask=mask, rename=rename)).names == {"ssn"}


def test_the_last_name_of_a_path_is_masked() -> None:
    mask = {"type": f"{SMT}MaskField$Value", "fields": "person.ssn"}
    assert masked_fields(chain(mask=mask)).names == {"person.ssn", "ssn"}
