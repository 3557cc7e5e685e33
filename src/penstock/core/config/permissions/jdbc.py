"""JDBC URLs and properties that a connector may give to a driver, and SQL that is safe for SQLite.

A URL is read as its driver reads it, and everything in it has to be known to be safe: the kind of database, its hosts,
and each property, wherever it is given. ``jdbc_databases`` has what is known; operators allow other kinds and
properties. Of a kind that is only the operator's, nothing is known, so any word before a ``=`` counts as a property.

SQL for SQLite may only read the file of the URL: it is one SELECT, or a suffix of one. Statements that open other files
(ATTACH, VACUUM INTO, ...) are statements of their own, and functions that load code have names. The SQL is put together
of parts that are checked one by one, so no part may end inside of a quote or comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote

from penstock.core.config.permissions.jdbc_database import JdbcDatabase
from penstock.core.config.permissions.jdbc_databases import DATABASES
from penstock.core.config.permissions.jdbc_urls import UrlError, any_properties
from penstock.core.config.secrets import is_secret, without_passwords

DATABASES_ALLOWED, PROPERTIES_ALLOWED = "penstock.jdbc.databases.allowed", "penstock.jdbc.properties.allowed"
SPARKS = frozenset(
    (
        *("url", "dbtable", "query", "driver", "partitioncolumn", "lowerbound", "upperbound", "numpartitions"),
        *("querytimeout", "fetchsize", "batchsize", "isolationlevel", "truncate", "cascadetruncate"),
        *("createtableoptions", "createtablecolumntypes", "customschema", "sessioninitstatement", "preparequery"),
        *("pushdownpredicate", "pushdownaggregate", "pushdownlimit", "pushdownoffset", "pushdowntablesample"),
        *("pushdownjoin", "keytab", "principal", "refreshkrb5config", "connectionprovider", "prefertimestampntz"),
        *("hint", "tablecomment", "checkpointlocation", "path", "paths"),
    )
)
"""Options of Spark's format ``jdbc``, in lower case; all others go to the driver."""
STATEMENTS = frozenset({"sessioninitstatement", "query", "preparequery"})
"""Spark's options that have SQL."""
IN_STATEMENTS = frozenset({"dbtable", "createtableoptions"})
"""Spark's options that it puts into its own SQL as they are."""
ALWAYS = frozenset({"user", "password"})
_LOOK_UP = re.compile(r"(?:ldaps?|rmi|iiop|dns|jndi|corba\w*)://?", re.IGNORECASE)
_PLAIN = re.compile(r"[\w.+:/ -]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MAX_SHOWN = 80

PathProblem = Callable[[str], str | None]
Problem = tuple[str, str]
"""An option, and a sentence."""


@dataclass(frozen=True, slots=True)
class JdbcRules:
    """Rules for what goes to JDBC drivers."""

    databases: tuple[str, ...] = tuple(DATABASES)
    """Kinds that are allowed; of those that are not in ``DATABASES``, only properties that the operator allows."""
    properties: tuple[str, ...] = ()
    """Patterns of further properties, as ``kind:name`` or ``kind:name=value``."""
    path_problem: PathProblem | None = None
    """Returns why a file may not be used, with the setting that says so; None allows all."""

    def problems(self, options: Mapping[str, str | None], sparks: bool = False) -> list[Problem]:
        """Return what is not allowed. Options are the URL and the driver's properties, without their prefix.

        ``sparks``: options of Spark's format ``jdbc`` are among them. Names of options count without their case.
        """
        named = [(name, name.strip().casefold(), value or "") for name, value in options.items()]
        urls = [(name, value) for name, plain, value in named if plain == "url" and value.strip()]
        found: list[Problem] = []
        for name, url in urls:
            found += ((name, problem) for problem in self.of_url(url))
        kinds = [kind for kind in dict.fromkeys(database_kind(url) for _, url in urls) if self._allows(kind)]
        for name, plain, value in named:
            if plain == "keytab" and sparks and self.path_problem and value and (why := self.path_problem(value)):
                found.append((name, why))
            if plain == "url" or not value or (sparks and plain in SPARKS - {"driver"}):
                continue
            for kind in kinds:
                if problem := self._of_property(kind, name.strip(), value):
                    found.append((name, problem))
        return found

    def of_url(self, url: str) -> Iterator[str]:
        """Yield what is wrong with a URL, as sentences without secrets."""
        plain = url.strip()
        if plain[:5].casefold() != "jdbc:":
            yield "the URL has to begin with `jdbc:` and the kind of database, such as jdbc:postgresql:"
            return
        kind = database_kind(plain)
        if _CONTROL.search(plain):
            yield "the URL has control characters"
            return
        if not self._allows(kind):
            known = ", ".join(self.databases)
            yield f"databases of kind {_shown(kind)} are not among those that `{DATABASES_ALLOWED}` allows: {known}"
            return
        if _LOOK_UP.search(plain) or _LOOK_UP.search(unquote(plain)):
            yield "the URL names a directory that the driver would load code from"
            return
        rest = plain[5:].lstrip().partition(":")[2]
        database = DATABASES.get(kind)
        if database is None:
            for name, value in any_properties(rest):
                if problem := self._of_property(kind, name, value):
                    yield f"{problem}, in the URL"
            return
        try:
            parsed = database.read(rest)
        except UrlError as error:
            yield f"the URL {error}; it has to be of the form {database.form}"
            return
        for name, value in parsed.properties:
            if problem := self._of_property(kind, name, value):
                yield f"{problem}, in the URL"
        if parsed.file is not None and self.path_problem and (problem := self.path_problem(parsed.file)):
            yield problem

    def _allows(self, kind: str) -> bool:
        return kind in map(str.casefold, self.databases)

    def _of_property(self, kind: str, name: str, value: str) -> str | None:
        key, given = name.casefold(), value.strip()
        if key in ALWAYS or self._extended(kind, key, given):
            return None
        if (database := DATABASES.get(kind)) is None:
            return (
                f"the property {_setting(name, value)} of databases of kind {_shown(kind)} is not among those that "
                f"`{PROPERTIES_ALLOWED}` of the worker allows, which are {', '.join(sorted(ALWAYS))}"
                f"{''.join(f', {each}' for each in self.properties)}"
            )
        if key == "driver":
            if given in database.drivers:
                return None
            return f"the driver {_shown(given)} is not one of {kind}: {', '.join(sorted(database.drivers))}"
        names = _names(database)
        match names.get(key):
            case "value":
                if database.plain and not _PLAIN.fullmatch(value):
                    return f"the property {_setting(name, value)} has to be a word or a number"
                return None
            case "file":
                return self._of_file(name, given)
            case frozenset() as choices:
                if given.casefold() in map(str.casefold, choices):
                    return None
                return f"the property {_setting(name, value)} has to be one of {', '.join(sorted(choices))}"
        return (
            f"the property {_setting(name, value)} is not among the properties of {kind} that are allowed, since it is "
            f"not known to be safe; `{PROPERTIES_ALLOWED}` of the worker can allow it. Allowed are "
            f"{', '.join(database.names())}"
        )

    def _of_file(self, name: str, value: str) -> str | None:
        for path in dict.fromkeys((value, unquote(value))):
            if path.startswith("-----BEGIN ") or path == "":
                continue
            scheme = re.match(r"([A-Za-z][\w+.-]+):", path)
            if scheme and scheme[1].casefold() != "file":
                return f"the property {_setting(name, value)} has to be the path of a file"
            if self.path_problem and (problem := self.path_problem(path)):
                return f"the property {name}: {problem}"
        return None

    def _extended(self, kind: str, key: str, value: str) -> bool:
        for pattern in self.properties:
            named, has_value, values = pattern.partition("=")
            if fnmatchcase(f"{kind}:{key}", named.strip().casefold()) and (
                not has_value or fnmatchcase(value, values.strip())
            ):
                return True
        return False


def _names(database: JdbcDatabase) -> dict[str, str | frozenset[str]]:
    return {
        **{name.casefold(): "value" for name in database.values},
        **{name.casefold(): "file" for name in database.files},
        **{name.casefold(): choices for name, choices in database.choices.items()},
    }


def _shown(text: str) -> str:
    text = without_passwords(text)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _setting(name: str, value: str) -> str:
    return f"{_shown(name)}=[hidden]" if is_secret(name) else f"{_shown(name)}={_shown(value)}"


def statement_problems(options: Mapping[str, str | None]) -> Iterator[Problem]:
    """Yield the problems of options that can have statements: Spark's format ``jdbc``.

    Derby's statements name Java methods to call; those of DuckDB and SQLite open any file. SQLite's driver runs all
    statements of the text by which Spark creates, empties or drops a table.
    """
    for name, value in options.items():
        match name.strip().casefold(), database_kind(value or ""):
            case "url", ("derby" | "duckdb") as kind:
                yield name, f"databases of kind {kind} run code in Spark's own process"
            case "url", "sqlite":
                yield from (
                    (each, f"{each} can open other files than that of the URL")
                    for each in options
                    if each.strip().casefold() in STATEMENTS
                )
                for each, sql in options.items():
                    if each.strip().casefold() in IN_STATEMENTS and (why := sqlite_suffix_problem(sql or "")):
                        yield each, f"SQLite's SQL can open other files, or load code: {why}"


def database_kind(url: str) -> str:
    plain = url.strip().casefold()
    return plain.removeprefix("jdbc:").lstrip().partition(":")[0]


_TOKEN = re.compile(
    r"""
    \s+ | --[^\n]*\n | /\*.*?\*/
    | '(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\]
    | [^\W\d][\w$]* | .
    """,
    re.DOTALL | re.VERBOSE,
)
_OPEN = ("--", "/*", "'", '"', "`", "[", "\0")
_READS, _WRITES = ("SELECT", "VALUES"), ("INSERT", "UPDATE", "DELETE", "REPLACE")
_LOADS = ("LOAD_EXTENSION", "FTS3_TOKENIZER")


def sqlite_problem(sql: str) -> str | None:
    """Return why this is not one statement that only reads, or None; a semicolon may end it."""
    text = sql.strip().rstrip(";")
    words, problem = _words(text)
    if problem is not None:
        return problem
    outer = [word for word, depth in words if depth == 0]
    if outer and outer[0] == "WITH":
        outer = [word for word in outer if word in (*_READS, *_WRITES)]
    return None if outer and outer[0] in _READS else "it has to be a SELECT"


def sqlite_suffix_problem(sql: str) -> str | None:
    """Return why this cannot follow a statement that only reads, or None."""
    return _words(sql.strip())[1]


def _words(text: str) -> tuple[list[tuple[str, int]], str | None]:
    """Return the words outside of quotes and comments, each with the number of open parentheses, and what is wrong."""
    words: list[tuple[str, int]] = []
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if len(token) == 1 and text.startswith(_OPEN, found.start()):
            return words, "a quote or comment has no end"
        match token:
            case ";":
                return words, "it has to be one statement"
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if depth < 0:
                    return words, "a parenthesis is closed that is not open"
        if token[0].isalpha() or token[0] == "_":
            words.append((token.upper(), depth))
        if token.strip('"`[]').upper() in _LOADS:
            return words, f"{token} loads code"
    return words, "a parenthesis is not closed" if depth else None
