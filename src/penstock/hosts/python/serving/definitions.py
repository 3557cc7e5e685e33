"""A connector's ``ConfigDef``, pickled for the worker.

Checks of ``penstock.api`` are sent as they are; functions and classes of the plugin stay here, and the worker gets
their numbers, by which it calls them.
"""

from __future__ import annotations

import inspect
import io
import pickle
import re
from dataclasses import dataclass
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef
from penstock.api.errors import ConnectError
from penstock.api.validators import Matches
from penstock.hosts.python.wire import API

_SENT = ("builtins", "collections", "datetime", "decimal")


@dataclass(frozen=True, slots=True)
class Definition:
    document: bytes
    foreign: list[Any]

    @classmethod
    def of(cls, connector: Any) -> Definition:
        defined = connector.config_def()
        if not isinstance(defined, ConfigDef):
            raise ConnectError(f"{connector.__qualname__}.config_def() must return a ConfigDef, not {defined!r}")
        plain = ConfigDef(defined)  # of a class of the plugin's own it is as good
        out = io.BytesIO()
        pickler = _Pickler(out, pickle.HIGHEST_PROTOCOL)
        pickler.dump((plain.keys, plain.groups))
        return cls(out.getvalue(), pickler.foreign)


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, protocol: int) -> None:
        super().__init__(out, protocol)
        self.foreign: list[Any] = []

    def persistent_id(self, obj: Any) -> Any:
        if obj is NO_DEFAULT:
            return ("no default",)
        if isinstance(obj, re.Pattern):
            return ("pattern", obj.pattern, obj.flags)
        if _is_sent(obj):
            return None
        self.foreign.append(obj)
        return ("foreign", len(self.foreign) - 1, str(obj))


def _is_sent(obj: Any) -> bool:
    if isinstance(obj, Matches) and not isinstance(obj._compiled, re.Pattern):
        return False
    if inspect.isclass(obj):
        return _of_api(obj.__module__)
    if obj is getattr:
        return True  # Python 3.11.0 to 3.11.3 pickles the members of enumerations by it
    if inspect.isroutine(obj):
        return False
    module = type(obj).__module__
    return module in _SENT or _of_api(module)


def _of_api(module: str) -> bool:
    return module in _SENT or module in API
