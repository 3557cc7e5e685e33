"""Fields that a connector's transforms mask, by their names in its topics."""

from __future__ import annotations

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
    assert masked == MaskedFields(frozenset({"ssn", "name", "id"}), frozenset({"key", "value"}))


def test_masks_of_other_plugins_count() -> None:
    assert masked_fields(chain(m={"type": "com.example.MaskPhone", "field": "phone"})).names == {"phone"}


def test_a_field_that_was_renamed_before_is_masked_by_both_names() -> None:
    rename = {"type": f"{SMT}ReplaceField$Value", "renames": "nr:ssn,a:b"}
    mask = {"type": f"{SMT}MaskField$Value", "fields": "ssn"}
    assert masked_fields(chain(rename=rename, mask=mask)).names == {"nr", "ssn"}
    assert masked_fields(chain(mask=mask, rename=rename)).names == {"ssn"}


def test_the_last_name_of_a_path_is_masked() -> None:
    mask = {"type": f"{SMT}MaskField$Value", "fields": "person.ssn"}
    assert masked_fields(chain(mask=mask)).names == {"person.ssn", "ssn"}
