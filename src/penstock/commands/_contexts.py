"""Contexts: clusters that commands know by name, with the URL of a worker, a user and authorities.

They are in ``$XDG_CONFIG_HOME/penstock/contexts.json``, by default below ``~/.config``, which only its owner can read.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.api.errors import ConfigError

OPTIONS = ("url", "user", "ca")
"""Options of commands that a context gives a value."""


@dataclass(frozen=True, slots=True)
class Context:
    url: str
    user: str | None = None
    """``NAME`` or ``NAME:PASSWORD``."""
    ca: str | None = None
    """File with certificates in PEM."""


@dataclass(slots=True)
class Contexts:
    current: str | None = None
    contexts: dict[str, Context] = field(default_factory=dict)

    @classmethod
    def load(cls) -> Contexts:
        """Return those of the user. Raises ConfigError for a file that can't be read."""
        file = contexts_file()
        try:
            document = json.loads(file.read_text())
            known = {name: Context(**given) for name, given in document["contexts"].items()}
            if not all(isinstance(value, str | None) for each in known.values() for value in asdict(each).values()):
                raise ValueError("a value is not a text")
            return cls(document["current"], known)
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(f"The contexts in {file} can't be read: {error}. Correct or remove the file") from error

    def save(self) -> None:
        """Replace the file as a whole. Raises ConfigError."""
        file = contexts_file()
        document = {"current": self.current, "contexts": {name: asdict(each) for name, each in self.contexts.items()}}
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=file.parent)  # readable by its owner alone
            with open(descriptor, "w") as opened:
                json.dump(document, opened, indent=2)
            os.replace(temporary, file)
        except OSError as error:
            raise ConfigError(f"The contexts in {file} can't be written: {error.strerror}") from error

    def named(self, name: str) -> Context:
        """Raises ConfigError if there is none."""
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none; `penstock context set NAME --url URL` makes one"
            raise ConfigError(f"There is no context {name}; known are {known}")
        return self.contexts[name]


def contexts_file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "penstock" / "contexts.json"


def use_context(command: Any, chosen: str | None) -> None:
    """Give the options of a command the values of a context, by default the current one. Raises ConfigError.

    The current one is not used where the environment names a worker: its password is for its own. The environment does
    not count where a context is ``chosen``.
    """
    if not chosen and os.environ.get("PENSTOCK_URL"):
        return
    contexts = Contexts.load()
    name = chosen or contexts.current
    if name is None:
        return
    context = contexts.named(name)
    for each in (command, *getattr(command, "commands", {}).values()):
        for parameter in each.params:
            if parameter.name in OPTIONS and any(other.name == "url" for other in each.params):
                if chosen:
                    parameter.envvar = None
                if (value := getattr(context, parameter.name)) is not None:
                    parameter.default = value
                    parameter.show_default = parameter.name != "user"  # it may have a password
