"""Helm's own engine, from a library on Maven Central, used like its command.

It is loaded in a separate process, because it contains Go's runtime, which handles signals.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import yaml

from support.jars import listed

JARS = Path(__file__).parents[1] / "installed" / "helm.jars"
_LIBRARY = "helm-linux-amd64.so"
_KUBERNETES = "1.30.0"


class HelmError(Exception):
    """Helm's error about a chart or values that it refuses."""


class Helm:
    """Helm in its process; see ``serving``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._rendered: dict[str, str] = {}
        """Rendered resources by chart and values, which are the same in many tests."""

    def template(self, chart: Path, values: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
        """Return the resources that ``helm template`` renders. Raises HelmError."""
        given = yaml.safe_dump(values)
        if (key := f"{chart}\n{given}") not in self._rendered:
            file = folder / "values.yaml"
            file.write_text(given)
            options = {"name": "test", "chart": chart, "kubeVersion": _KUBERNETES, "valuesFiles": file}
            self._rendered[key] = self._call("Template", options)
        return [each for each in yaml.load_all(self._rendered[key], yaml.CSafeLoader) if each]

    def lint(self, chart: Path) -> str:
        """Return the output of ``helm lint --strict``. Raises HelmError."""
        return self._call("Lint", {"path": chart, "strict": 1})

    def _call(self, function: str, options: dict[str, Any]) -> str:
        given = {name: each if isinstance(each, int) else str(each) for name, each in options.items()}
        to, of = self._process.stdin, self._process.stdout
        assert to is not None
        assert of is not None
        print(json.dumps([function, given]), file=to, flush=True)
        said = json.loads(of.readline() or '{"error": "Helm\'s process has ended"}')
        if said["error"]:
            raise HelmError(said["error"])
        return str(said["out"])


@contextmanager
def serving() -> Iterator[Helm]:
    """Start one process for any number of calls."""
    [jar] = listed(JARS)
    library = jar.with_suffix(".so")
    if not library.exists():
        with zipfile.ZipFile(jar) as file:
            part = library.with_suffix(".part")
            part.write_bytes(file.read(_LIBRARY))
            part.replace(library)
    command, folder = [sys.executable, "-m", "support.helm", str(library)], Path(__file__).parents[1]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        yield Helm(process)
        process.communicate()


class _Options(ctypes.Structure):
    """Options of a call, in the order of the library's header; options that are not given are empty."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(**{name: each.encode() if isinstance(each, str) else each for name, each in given.items()})


class Template(_Options):
    _fields_: ClassVar[list[tuple[str, Any]]] = [  # type: ignore[misc]
        *((name, ctypes.c_char_p) for name in ("name", "version", "chart", "namespace", "kubeVersion")),
        *((name, ctypes.c_int) for name in ("dependencyUpdate", "skipCRDs")),
        *((name, ctypes.c_char_p) for name in ("values", "setFiles", "valuesFiles", "certFile", "keyFile", "caFile")),
        *((name, ctypes.c_int) for name in ("insecureSkipTlsVerify", "plainHttp")),
        *(("keyring", ctypes.c_char_p), ("debug", ctypes.c_int), ("repositoryConfig", ctypes.c_char_p)),
    ]


class Lint(_Options):
    _fields_: ClassVar[list[tuple[str, Any]]] = [  # type: ignore[misc]
        *(("path", ctypes.c_char_p), ("strict", ctypes.c_int), ("quiet", ctypes.c_int)),
    ]


class _Result(ctypes.Structure):
    _fields_: ClassVar[list[tuple[str, Any]]] = [  # type: ignore[misc]
        (name, ctypes.c_char_p) for name in ("out", "err", "stdOut", "stdErr")
    ]


def main(path: str) -> None:
    library = ctypes.CDLL(path)
    kinds: dict[str, type[_Options]] = {"Template": Template, "Lint": Lint}
    for line in sys.stdin:
        function, given = json.loads(line)
        call = getattr(library, function)
        call.restype = _Result
        result = call(ctypes.byref(kinds[function](given)))
        said = {"out": (result.out or b"").decode(), "error": (result.err or b"").decode()}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
