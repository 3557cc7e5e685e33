"""Helm's own engine, from a library on Maven Central, as its command would be used.

It is loaded in a process of its own, because it brings Go's runtime, which handles signals.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import yaml

from support.jars import listed

JARS = Path(__file__).parents[1] / "installed" / "helm.jars"
_LIBRARY = "helm-linux-amd64.so"
_KUBERNETES = "1.30.0"


class HelmError(Exception):
    """What Helm says of a chart or of values that it refuses."""


def template(chart: Path, values: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The resources that ``helm template`` renders. Raises HelmError."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    said = _run("Template", {"name": "test", "chart": chart, "kubeVersion": _KUBERNETES, "valuesFiles": file})
    return [each for each in yaml.safe_load_all(said) if each]


def lint(chart: Path) -> str:
    """What ``helm lint --strict`` says. Raises HelmError."""
    return _run("Lint", {"path": chart, "strict": 1})


def _run(function: str, options: dict[str, Any]) -> str:
    [jar] = listed(JARS)
    library = jar.with_suffix(".so")
    if not library.exists():
        with zipfile.ZipFile(jar) as file:
            part = library.with_suffix(".part")
            part.write_bytes(file.read(_LIBRARY))
            part.replace(library)
    given = json.dumps({name: each if isinstance(each, int) else str(each) for name, each in options.items()})
    command = [sys.executable, "-m", "support.helm", str(library), function, given]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    said = json.loads(done.stdout)
    if said["error"]:
        raise HelmError(said["error"])
    return str(said["out"])


class _Options(ctypes.Structure):
    """Those that are not given are empty. The order is that of the library's header."""

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


def main(library: str, function: str, given: str) -> None:
    call = getattr(ctypes.CDLL(library), function)
    call.restype = _Result
    kind: type[_Options] = {"Template": Template, "Lint": Lint}[function]
    result = call(ctypes.byref(kind(json.loads(given))))
    print(json.dumps({"out": (result.out or b"").decode(), "error": (result.err or b"").decode()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
