"""PythonFunction: a function of yours as a transform, without a class around it.

``transforms.t.type=penstock.transforms.PythonFunction``, ``transforms.t.function=shop.cleaning:anonymize``. The
function takes a Record and returns a Record, or None to drop it; with ``mode=batch`` it takes a Batch and returns a
Batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from penstock.api.batch import Batch
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import SinkRecord, SourceRecord
from penstock.api.validators import Described, ValidString
from penstock.pipeline.transforms.column import BuiltIn


def find_function(name: str) -> Callable[..., Any]:
    """``module:function`` or ``module.function``; what follows the module may have dots of its own (a static method).

    Raises ConfigError.
    """
    module_name, colon, path = name.partition(":")
    if not colon:
        module_name, _, path = name.rpartition(".")
    if not module_name or not path:
        raise ConfigError("function", name, "it must name a module and a function in it, as in shop.cleaning:anonymize")
    try:
        found: Any = import_module(module_name)
    except Exception as error:
        raise ConfigError(
            "function", name, f"module {module_name} can't be imported ({type(error).__name__}: {error})"
        ) from error
    package = module_name.partition(".")[0]
    for part in path.split("."):
        if isinstance(found, ModuleType) and found.__name__.partition(".")[0] != package:
            raise ConfigError("function", name, f"{found.__name__} is another module")
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ConfigError("function", name, f"there is no {path} in module {module_name}") from None
    if not callable(found):
        raise ConfigError("function", name, f"it is a {type(found).__name__}, not a function")
    return found


def defined_as(name: str) -> str | None:
    """``module.function`` with the module that defines it; None if there is no such function."""
    try:
        found = find_function(name)
    except ConfigError:
        return None
    own = found if hasattr(found, "__qualname__") and getattr(found, "__module__", None) else type(found)
    return f"{own.__module__}.{own.__qualname__}"


def _check(_: str, value: Any) -> None:
    if value is not None:
        find_function(value)


class PythonFunction(BuiltIn):
    """Calls a function of Python for each record, or for each batch of records."""

    java_name = "penstock.transforms.PythonFunction"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "function",
                ConfigType.STRING,
                NO_DEFAULT,
                Described(_check, "module:function"),
                Importance.HIGH,
                "The function to call, as <code>module:function</code>. It must be importable where the tasks run.",
            )
            .define(
                "mode",
                ConfigType.STRING,
                "record",
                ValidString("record", "batch"),
                Importance.MEDIUM,
                "What the function is given and answers with: <code>record</code>, a Record (None drops it), or "
                "<code>batch</code>, a Batch of any number of records.",
            )
        )

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._name: str = settings["function"]
        self._function = find_function(self._name)
        self.on_batches = settings["mode"] == "batch"

    def apply(self, record: Any) -> Any:
        changed = self._function(record)
        if changed is not None and not isinstance(changed, SourceRecord | SinkRecord):
            raise DataError(f"{self._name} answered with a {type(changed).__name__} where a record or None is expected")
        return changed

    def apply_batch(self, batch: Batch) -> Batch:
        if not self.on_batches:
            return super().apply_batch(batch)
        changed = self._function(batch)
        if not isinstance(changed, Batch):
            raise DataError(f"{self._name} answered with a {type(changed).__name__} where a Batch is expected")
        return changed
