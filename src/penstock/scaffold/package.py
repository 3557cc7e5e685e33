"""The files of a new plugin: a package that installs, has tests that pass, and is found by a worker."""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from penstock import __version__
from penstock.api.errors import ConfigError

KINDS = ("source", "sink", "transform", "converter")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class NewPlugin:
    kind: str
    name: str
    """Name of the distribution: ``weather-source``."""

    @classmethod
    def of(cls, kind: str, name: str) -> NewPlugin:
        """Raises ConfigError for a name that no package can have."""
        made = cls(kind, name)
        if not _NAME.fullmatch(name) or keyword.iskeyword(made.module) or keyword.iskeyword(made.class_name):
            right = (
                "lower-case letters and digits, words joined by `-`, beginning with a letter, such as `weather-source`"
            )
            raise ConfigError(f"`{name}` can't be the name of a plugin; expected {right}")
        taken = {made.class_name, f"{made.class_name}Task"} & cls(kind, "x")._names()
        if taken:
            raise ConfigError(
                f"`{name}` can't be the name of a plugin: its module needs {min(taken)} for something else; "
                f"try `{name}-{kind}`"
            )
        return made

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")

    @property
    def class_name(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("-"))

    def texts(self) -> dict[str, str]:
        """The content of each file, by its path in the package's folder."""
        module = self.module
        return {
            "pyproject.toml": self._filled("pyproject.toml"),
            "Makefile": self._filled("Makefile"),
            "README.md": self._filled(f"{self.kind}.md"),
            "config.json": self._filled(f"{self.kind}.json"),
            ".gitignore": "__pycache__/\n.venv/\ndist/\nplugins/\n/out.*\n",
            f"src/{module}/__init__.py": self._filled(f"{self.kind}.py"),
            f"src/{module}/py.typed": "",
            f"tests/test_{module}.py": self._filled(f"test_{self.kind}.py"),
        }

    def _names(self) -> set[str]:
        """Return the names of classes and functions in the module and its tests, except the plugin's own."""
        found = set[str]()
        for template in (f"{self.kind}.py", f"test_{self.kind}.py"):
            for node in ast.walk(ast.parse(self._filled(template))):
                match node:
                    case ast.Name(name) | ast.alias(name) | ast.ClassDef(name):
                        found.add(name)
        return found - {self.class_name, f"{self.class_name}Task"}

    def _filled(self, template: str) -> str:
        text = files("penstock.scaffold").joinpath("templates", f"{template}.tmpl").read_text("utf-8")
        names = {"name": self.name, "module": self.module, "cls": self.class_name, "version": __version__}
        return Template(text).substitute(names, kind=self.kind)

    def write(self, parent: Path) -> Path:
        """Make the folder of the package. Raises ConfigError if there is one of its name, or a module that would hide
        the plugin's.
        """
        folder = parent / self.name
        if folder.exists():
            raise ConfigError(
                f"There is {'a folder' if folder.is_dir() else 'a file'} {folder} already, which stays as it is: "
                "choose another name, or another place with --in"
            )
        if find_spec(self.module) is not None:
            raise ConfigError(
                f"`{self.name}` can't be the name of a plugin: Python or an installed package has a module "
                f"{self.module} already; try `{self.name}-{self.kind}`"
            )
        try:
            folder.mkdir()
            for path, text in self.texts().items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
        except OSError as error:
            raise ConfigError(f"The folder {folder} cannot be written: {error.strerror}") from error
        return folder
