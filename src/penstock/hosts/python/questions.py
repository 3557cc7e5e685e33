"""Questions to the classes of an environment: definitions of settings, validation, offsets.

One process per environment answers them. It is started with the first question, and stays as long as the environment
is installed; if it has ended, the next question starts another one.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef
from penstock.api.errors import ConnectError
from penstock.hosts.errors import HostLost
from penstock.hosts.python.limits import PluginLimits
from penstock.hosts.python.messages import AskConnector, CallDefinition, ReadDefinition
from penstock.hosts.python.process import PluginProcess
from penstock.hosts.python.wire import ApiUnpickler

CALL_SECONDS = 100.0
"""Time limit of one question; somewhat longer than a REST request."""


class EnvironmentQuestions:
    """Questions to one environment. Any thread may ask."""

    def __init__(self, folder: Path, name: str, limits: PluginLimits) -> None:
        self._folder, self._name, self._limits = folder, name, limits
        self._lock = threading.Lock()
        self._process: PluginProcess | None = None
        self._closed = False
        self._definitions: dict[str, ConfigDef] = {}

    def config_def(self, target: str) -> ConfigDef:
        """Return the settings of a connector's class."""
        if (known := self._definitions.get(target)) is None:
            reader = _DefinitionReader(io.BytesIO(self._call("config_def", ReadDefinition(target))), self, target)
            known = ConfigDef()
            known.keys, known.groups = reader.load()
            self._definitions[target] = known
        return ConfigDef(known)

    def ask(self, target: str, method: str, *args: Any) -> Any:
        """Call a method of an object that is made for it. Raises what it raises, and ConnectError."""
        return self._call(method, AskConnector(target, method), *args)  # type: ignore[arg-type]

    def call_foreign(self, target: str, number: int, method: str, *args: Any) -> Any:
        """Call a check or recommender of a definition. Raises what it raises, and ConnectError."""
        return self._call(method, CallDefinition(target, number, method), *args)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the process; questions raise ConnectError from now on."""
        with self._lock:
            self._closed, process, self._process = True, self._process, None
        if process is not None:
            process.close()

    def _call(self, method: str, question: ReadDefinition | CallDefinition | AskConnector, *args: Any) -> Any:
        with self._lock:
            if self._closed:
                raise ConnectError(f"{method} of {self._name}: it has been removed or replaced")
            if self._process is not None and self._process.gone:
                self._process.close()
                self._process = None
            if self._process is None:
                limits = PluginLimits(memory=self._limits.memory)  # it lives long
                self._process = PluginProcess(self._folder, self._name, limits)
            process = self._process
        try:
            return process.call(question, *args, lane=None, timeout=CALL_SECONDS)
        except HostLost as error:
            raise ConnectError(f"{method} of {self._name}: {error}") from error
        except TimeoutError as error:
            with self._lock:
                if self._process is process:
                    self._process = None  # the next question starts another one
            process.close()  # the call would go on otherwise
            raise ConnectError(f"{method} of {self._name}: {error}") from error


@dataclass(frozen=True, slots=True)
class Foreign:
    """A check or a recommender of the plugin, which is called in its environment."""

    questions: EnvironmentQuestions
    target: str
    number: int
    text: str

    def __call__(self, name: str, value: Any) -> Any:
        return self.questions.call_foreign(self.target, self.number, "__call__", name, value)

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        found: list[Any] = self.questions.call_foreign(self.target, self.number, "valid_values", name, dict(parsed))
        return found

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return bool(self.questions.call_foreign(self.target, self.number, "visible", name, dict(parsed)))

    def __str__(self) -> str:
        return self.text


class _DefinitionReader(ApiUnpickler):
    def __init__(self, data: io.BytesIO, questions: EnvironmentQuestions, target: str) -> None:
        super().__init__(data)
        self._questions, self._target = questions, target

    def persistent_load(self, said: Any) -> Any:
        match said:
            case ("no default",):
                return NO_DEFAULT
            case ("pattern", pattern, flags):
                return re.compile(pattern, flags)
            case ("foreign", number, text):
                return Foreign(self._questions, self._target, number, text)
        raise ConnectError(f"A definition of settings has an unknown part: {said!r}")
