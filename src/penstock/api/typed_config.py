"""Settings as a dataclass: each declared once, with its type, default and documentation.

    @dataclass(frozen=True)
    class Settings(TypedConfig):
        url: Annotated[str, Setting("The address of the API.")]
        page_size: Annotated[int, Setting("Number of events in a page.", at_least(1))] = 100
        order: Annotated[Literal["asc", "desc"], Setting("The order of events.")] = "asc"

    Settings.of({"url": "http://localhost", "page.size": "5"}).page_size   # 5

The setting of ``page_size`` is ``page.size``, unless ``Setting`` has another name.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance, Password
from penstock.api.validators import NonEmptyString, Validator, ValidString

_TYPES: Mapping[Any, ConfigType] = {
    str: ConfigType.STRING,
    int: ConfigType.LONG,
    float: ConfigType.DOUBLE,
    bool: ConfigType.BOOLEAN,
    Password: ConfigType.PASSWORD,
    list[str]: ConfigType.LIST,
}


@dataclass(frozen=True, slots=True)
class Setting:
    """The annotation of a field: all that is to be said of a setting besides its type."""

    documentation: str
    validator: Validator | None = None
    """The check of values. By default a required text must not be empty, and a ``Literal`` is one of its values."""
    importance: Importance | None = None
    """The importance. By default HIGH for a required setting, MEDIUM for others."""
    name: str | None = None


class TypedConfig:
    """Base of dataclasses of settings.

    Fields are ``str``, ``int``, ``float``, ``bool``, ``list[str]``, ``Password`` or a ``Literal`` of texts, each may be
    ``| None``; all are ``Annotated`` with a ``Setting``.
    """

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Return the definitions, for ``config_def`` of a connector, transform or converter.

        Raises TypeError for a field whose type is none of those above.
        """
        config = ConfigDef()
        for name, field, kind, setting in _settings(cls):
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            type, validator = _type(cls, field.name, kind)
            if validator is None and required and type is ConfigType.STRING:
                validator = NonEmptyString()
            config.define(
                name,
                type,
                NO_DEFAULT if required else _default(field),
                setting.validator or validator,
                setting.importance or (Importance.HIGH if required else Importance.MEDIUM),
                setting.documentation,
            )
        return config

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """The values of a configuration. Raises ConfigError as ``ConfigDef.parse``."""
        values = cls.config_def().parse(config)
        return cls(**{field.name: values[name] for name, field, _, _ in _settings(cls)})


def _settings(cls: type) -> list[tuple[str, dataclasses.Field[Any], Any, Setting]]:
    """Name of the setting, field, type and description of each field."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} must be a dataclass")
    hints = typing.get_type_hints(cls, include_extras=True)
    found = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        setting = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Setting)), None)
        if setting is None:
            raise TypeError(f"{cls.__name__}.{field.name} must be Annotated with a Setting")
        name = setting.name or field.name.replace("_", ".")
        found.append((name, field, typing.get_args(hint)[0], setting))
    return found


def _type(cls: type, name: str, kind: Any) -> tuple[ConfigType, Validator | None]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        rest = [each for each in typing.get_args(kind) if each is not types.NoneType]
        if len(rest) == 1:
            type, validator = _type(cls, name, rest[0])
            return type, None if isinstance(validator, ValidString) else validator
    if typing.get_origin(kind) is typing.Literal and all(isinstance(each, str) for each in typing.get_args(kind)):
        return ConfigType.STRING, ValidString(*typing.get_args(kind))
    if kind in _TYPES:
        return _TYPES[kind], None
    raise TypeError(f"{cls.__name__}.{name} can't be {kind}: a setting is one of {', '.join(map(_shown, _TYPES))}")


def _shown(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and kind is not list[str] else str(kind)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING
    return field.default_factory()
