"""Files and folders that the settings of an Iceberg catalog name, which ``penstock.paths.allowed`` limits.

The folders of tables are compared once more when a sink has loaded its table: the catalog names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import parse_qsl, unquote

from penstock.api.paths import PATHS_ALLOWED, PathReader

CATALOG = "iceberg.catalog."
_PROPERTIES = ("iceberg.tables.auto-create-props.", "iceberg.tables.write-props.")
_SQLITE = re.compile(r"sqlite://(?:/(?P<file>[^?]*))?(?P<more>\?.*)?")
_FILES_OF_LIBPQ = re.compile(r"ssl(?:cert|key|rootcert|crl|crldir)|passfile|service|servicefile|host|hostaddr")


def iceberg_problems(
    props: Mapping[str, str | None], path_problem: Callable[[str, PathReader], str | None]
) -> Iterator[tuple[str, str]]:
    """Yield the settings that name files or folders that may not be used, with sentences."""
    for key, value in props.items():
        given, problem = (value or "").strip(), None
        if key == f"{CATALOG}warehouse" and "/" in given:  # otherwise it is the name of one
            problem = path_problem(given, PathReader.HADOOP)
        elif key == f"{CATALOG}uri":
            problem = _of_uri(given, path_problem)
        elif key.startswith(_PROPERTIES) and key.endswith(".path"):
            problem = path_problem(given, PathReader.HADOOP)
        if problem:
            yield key, problem


def _of_uri(uri: str, path_problem: Callable[[str, PathReader], str | None]) -> str | None:
    if match := _SQLITE.fullmatch(uri):
        if match["more"]:
            return f"has parameters, which is not allowed with `{PATHS_ALLOWED}` of the worker"
        return path_problem(unquote(match["file"]), PathReader.OPEN) if match["file"] else None
    if uri.startswith("postgresql"):
        for name, value in parse_qsl(uri.partition("?")[2]):
            if _FILES_OF_LIBPQ.fullmatch(name) and (name != "host" or value.startswith("/")):
                return f"has {name}, which is not allowed with `{PATHS_ALLOWED}` of the worker"
    return None
