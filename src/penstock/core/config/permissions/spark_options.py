"""Options of Spark's readers and writers, and of functions of ``sql``, that connectors may give by themselves.

The lists are in ``spark_options.toml``, by format. The worker's operator adds others by OPTIONS_ALLOWED.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib.resources import files

OPTIONS_ALLOWED = "penstock.spark.options.allowed"
"""Setting of the worker: patterns of further options, as ``format.option``."""
SQL_FUNCTIONS_ALLOWED = "penstock.spark.functions.allowed"
"""Setting of the worker: functions that ``sql`` may call besides those of ``allowed.toml``."""
IN_FILES = ("parquet", "orc", "json", "csv", "text", "xml", "avro", "binaryfile")
"""Formats that also take the options of files."""
PATH_OPTIONS = frozenset(
    {
        *("path", "paths", "basepath", "badrecordspath", "checkpointlocation", "location", "sourcearchivedir"),
        *("rowvalidationxsdpath", "avroschemaurl", "schemalocation", "schematrackinglocation", "keytab"),
    }
)
"""Options that name files and folders, in lower case; so do ``kafka.*.location`` and ``kafka.*.file``."""
_CODECS = re.compile(r"(?:.*\.)?(?:compression|codec|compress)")
_SHORT = re.compile(r"[A-Za-z0-9_-]*")


@functools.cache
def _lists() -> dict[str, tuple[str, ...]]:
    text = (files(__package__) / "spark_options.toml").read_text("utf-8")
    given: dict[str, list[str]] = tomllib.loads(text)
    return {name: (*options, *(given["files"] if name in IN_FILES else ())) for name, options in given.items()}


def options_of(format: str) -> list[str]:
    """Return the options that a format may have, or patterns of them, in alphabetical order."""
    return sorted(_lists().get(format.casefold(), ()), key=str.casefold)


def is_option(format: str, name: str, more: Collection[str] = ()) -> bool:
    """Whether an option may be given; ``more``: the patterns of the operator. Spark ignores the case of names."""
    kind, option = format.casefold(), name.casefold()
    if any(fnmatchcase(f"{kind}.{option}", pattern.strip().casefold()) for pattern in more):
        return True
    if names_file(option):
        return False
    return any(fnmatchcase(option, pattern.casefold()) for pattern in _lists().get(kind, ()))


def names_file(option: str) -> bool:
    """Whether an option, in lower case, names a file or folder; such are refused unless the operator allows them."""
    return option in PATH_OPTIONS or (option.startswith("kafka.") and option.endswith((".location", ".file")))


def option_problems(format: str, options: Mapping[str, str | None], more: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield options that a connector may not give, and sentences. ``more``: the value of OPTIONS_ALLOWED.

    The properties of a JDBC driver are judged elsewhere.
    """
    kind = format.strip().casefold()
    for name, value in options.items():
        option = name.strip().casefold()
        if option != name.casefold():
            yield name, f"the option {name!r} has spaces around its name"
        elif not is_option(kind, option, more) and (kind != "jdbc" or option in PATH_OPTIONS - {"keytab"}):
            known = ", ".join(options_of(kind)) or "none"
            yield (
                name,
                f"{name} is not among the options of format={kind} that connectors may give: {known}; "
                f"`{OPTIONS_ALLOWED}` of the worker allows others, as `{kind}.{name}`",
            )
        elif _CODECS.fullmatch(option) and not _SHORT.fullmatch((value or "").strip()):
            yield name, f"{name} has to be the short name of a codec, such as zstd or gzip, not {value}"
