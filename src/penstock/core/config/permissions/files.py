"""Settings of connectors that name files and folders: the one list of them, and what is wrong with their values.

Some are known by connector; those of Kafka's clients, of TLS, of Kerberos and of files with credentials are known by
their names, with any prefix, for every plugin: overrides of clients, clusters of MirrorMaker, converters of the Schema
Registry, transforms, and connectors of jars. A URL of a file is a file wherever it is. The worker's own settings are
the operator's and are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from penstock.api.paths import PATHS_ALLOWED, PathReader
from penstock.core.config.permissions.clients import SPARK_SINK, SPARK_SOURCE
from penstock.core.config.permissions.iceberg import iceberg_problems
from penstock.core.config.permissions.spark_options import names_file
from penstock.java.errors import JaasError
from penstock.java.jaas import login_module
from penstock.java.parsing import BLANKS

Props = Mapping[str, str | None]
Problem = tuple[str, str]
"""A setting of the connector, and a sentence."""
PathProblem = Callable[[str, PathReader], str | None]
"""Returns why a file or folder may not be used."""

_FILE = "org.apache.kafka.connect.file.FileStream"
PATHS: Mapping[str, Mapping[str, PathReader]] = {
    f"{_FILE}SourceConnector": {"file": PathReader.OPEN},
    f"{_FILE}SinkConnector": {"file": PathReader.OPEN},
    SPARK_SINK: {"path": PathReader.HADOOP},
    SPARK_SOURCE: {"path": PathReader.HADOOP_PATTERN, "checkpoint.location": PathReader.HADOOP},
    "penstock.connectors.PostgresSource": dict.fromkeys(
        ("database.sslrootcert", "database.sslcert", "database.sslkey"), PathReader.OPEN
    ),
}
"""Settings that name files and folders, and what opens them, by connector."""
SOCKETS = {"penstock.connectors.PostgresSource": ("database.hostname",)}
"""Settings that name hosts, or folders of their sockets, by connector."""
_QUERIES = (SPARK_SINK, SPARK_SOURCE)
_OPTION = "option."
_LOGIN = re.compile(r"[^/]*://[^/]*:[^/]*@")
"""Start of a URI with a name and a password."""
_FOLDER = re.compile(
    r"[/:\\%]|\A\s*`?(?:parquet|orc|json|csv|text|xml|avro|binaryfile|delta|iceberg|hudi)`?\s*\.", re.IGNORECASE
)
"""A name of a table that Spark takes for a folder."""

_UNCHECKED = ("iceberg", "hudi")
"""Formats of tables whose logs may name files anywhere, which Spark does not tell before it reads them."""

_STORE = r"(?:key|trust)[._-]?store"
_PLACE = r"[._-]?(?:location|path|file|filename|dir|directory)"
_PATH_NAME = re.compile(
    rf"(?:.*[._-]|.*(?:ssl|tls))?(?:{_STORE}(?:{_PLACE}|[._-]?ur[il])?"
    rf"|(?:ssl|tls)[._-](?:.*[._-])?(?:location|file|filename|dir|directory)|(?:ssl|tls)[._-].*[._-]path"
    rf"|(?:ca|root|client|server)?[._-]?(?:cert(?:s|ificates?)?|crl){_PLACE}"
    rf"|(?:client[._-])?key[._-]?tab(?:{_PLACE})?|ticket[._-]?cache|krb5[._-]?conf(?:ig)?(?:{_PLACE})?|wallet{_PLACE})"
    rf"|.*(?:ssl|tls)[._-]?(?:root[._-]?)?(?:cert|key|ca|crl)(?:{_PLACE})?"
)
"""Names, in lower case, of settings that name files of TLS and Kerberos."""
_STORE_NAME = re.compile(rf"(?!.*(?:ssl|tls)).*{_STORE}")
"""Names of settings that may have a kind of store, such as ``memory``, in place of its file."""
_FILE_NAME = re.compile(
    r"(?:.*[._-])?(?:file|filename|filepath|keyfile|file[._-](?:path|name|location)|(?:credentials?|private[._-]?key|jaas)[._-]?(?:location|path|file)"
    r"|credentials?[._-].*[._-](?:path|file)|passfile"
    r"|(?:assertion|template)[._-]?location|(?:assertion|token|template|password|secret)[._-]?file|conf(?:ig)?[._-]?(?:file|dir))"
    r"|.*(?:credentials?|key|token|cert|certificate|secret|password)[._-]?file[._-]?(?:path|name|location)"
)
"""Names, in lower case, of settings that name files if their values look like paths."""
MAX_NAME = 500
"""Number of the last characters of a setting's name that are checked: the time grows with its square."""
_PATH_VALUE = re.compile(r"[~.]|[^\s{\[<]*/")
_TEXT = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://|-----BEGIN |MI[a-z0-9+/=\s]{98,}\Z", re.IGNORECASE)
"""Start of a URL of a server, or of a key or certificate itself."""
_FILE_URL = re.compile(r"(?:(?:url|jar|zip):)*(file|netdoc|nested):(?!\Z)", re.IGNORECASE)
_URL_NAME = re.compile(r".*(?:ur[il]s?|endpoint|location|path|file)")
_JAAS_NAME = re.compile(r"(?:.*[._-])?jaas[._-]config")
_JAAS_FILES = frozenset({"keytab", "ticketcache", "keystoreurl", "keystorepasswordurl", "privatekeypasswordurl"})
_JAAS_PLACE = re.compile(r".*(?:(?<!pro)file|path|location)")
_KERBEROS_PREFIX = re.compile(r"(?:FILE|DIR|WRFILE):")


def form_problems(connector: str, props: Props) -> Iterator[Problem]:
    """Yield what is wrong with a connector's own paths wherever they lead."""
    for key, reader in PATHS.get(connector, {}).items():
        given = (props.get(key) or "").strip(BLANKS)
        if reader is not PathReader.OPEN and _LOGIN.match(given):
            yield key, "has a name and a password; set those for this file system in the worker's `spark.hadoop.*`"
        elif "\0" in given:
            yield key, "has a character of code 0, which no path can have"


def file_problems(connector: str, props: Props, path_problem: PathProblem) -> Iterator[Problem]:
    """Yield the files and folders of a configuration that may not be used.

    ``connector`` is Java's name of its class. References are resolved.
    """
    known = PATHS.get(connector, {})
    for key, reader in known.items():
        given = props.get(key)
        if given and (problem := path_problem(given, reader)):
            yield key, problem
    for key in SOCKETS.get(connector, ()):
        for host in (props.get(key) or "").split(","):
            if host.strip().startswith(("/", "@")) and (problem := path_problem(host.strip(), PathReader.OPEN)):
                yield key, problem
    for key, value in props.items():
        given = (value or "").strip(BLANKS)
        if given and key not in known and (problem := _problem(key.strip().casefold(), given, path_problem)):
            yield key, problem
    if connector in _QUERIES:
        yield from _query_problems(connector, props, path_problem)


def _query_problems(connector: str, props: Props, path_problem: PathProblem) -> Iterator[Problem]:
    for key, value in props.items():
        option = key.removeprefix(_OPTION).strip().casefold() if key.startswith(_OPTION) else ""
        if option == "paths":
            yield key, f"{key} names several folders; with `{PATHS_ALLOWED}` of the worker use `path`"
        elif names_file(option) and value and (problem := path_problem(value, PathReader.HADOOP)):
            yield key, problem
    format = (props.get("format") or "").strip().casefold()
    if connector == SPARK_SINK:
        yield from iceberg_problems(props, path_problem)
    if connector == SPARK_SOURCE and format in _UNCHECKED:
        yield (
            "format",
            f"the files that a table of format={format} names can't be compared with `{PATHS_ALLOWED}` of the worker; "
            "those of format=delta are",
        )
    table = props.get("table")
    if connector == SPARK_SINK and table and _FOLDER.search(table):
        yield "table", f"{table} names a folder; with `{PATHS_ALLOWED}` of the worker it has to be in `path`"


def _problem(name: str, value: str, path_problem: PathProblem) -> str | None:
    """Return why a setting, known by its name in lower case or by its value, names a file that may not be used."""
    if _JAAS_NAME.fullmatch(name):
        return _jaas_problem(value, path_problem)
    if problem := _urls_problem(name, value, path_problem):
        return problem
    if names_path(name, value) and not _FILE_URL.match(value):
        return path_problem(value, PathReader.OPEN)
    return None


def names_path(name: str, value: str) -> bool:
    """Whether a setting of any plugin, by its name in lower case and its value, names a file or folder."""
    if _TEXT.match(value) and ".." not in value:
        return False
    name = name[-MAX_NAME:]
    if _PATH_NAME.fullmatch(name):
        return _STORE_NAME.fullmatch(name) is None or re.search(r"[/.~\\]", value) is not None
    return _FILE_NAME.fullmatch(name) is not None and _PATH_VALUE.match(value) is not None


def _urls_problem(name: str, value: str, path_problem: PathProblem) -> str | None:
    """Judge URLs of files, as Java's ``URL`` reads them, in a value or a list."""
    for each in (value, *value.split(",")) if "," in value else (value,):
        given = each.strip()
        found = _FILE_URL.match(given)
        # Lists such as ``renames`` may have a field with the name file.
        if found and (given[found.end()] in "/." or _URL_NAME.fullmatch(name)):
            path = "file:" + given[found.end() :]
            if found.start(1):  # what comes after it is in the jar
                path = path.partition("!")[0]
            if problem := path_problem(path, PathReader.HADOOP):
                return problem
    return None


def _jaas_problem(text: str, path_problem: PathProblem) -> str | None:
    """Judge the files that a login module is given. The text may hold a password, so messages show paths only."""
    try:
        options = login_module(text).options
    except JaasError:
        return f"can't be read as one login module, so its files can't be compared with `{PATHS_ALLOWED}` of the worker"
    # Java's reader ends a comment, and a text in quotes, at ends of lines, of which a carriage return alone is one.
    if "\r" in text.replace("\r\n", "\n") or any("\n" in value for value in options.values()):
        return f"has an end of a line in a value or comment, which is not allowed with `{PATHS_ALLOWED}` of the worker"
    for name, value in options.items():
        option = name.casefold()
        url = _FILE_URL.match(value)
        if not url and option not in _JAAS_FILES and not _JAAS_PLACE.fullmatch(option):
            continue
        if "\\" in text:  # Java reads octal digits after it
            return f"has `\\` beside {name}, which is not allowed with `{PATHS_ALLOWED}` of the worker"
        plain = _KERBEROS_PREFIX.sub("", value, count=1)
        if option in ("keytab", "ticketcache") or not url:
            problem = path_problem(plain, PathReader.OPEN) if value else None
        else:
            problem = _urls_problem("url", value, path_problem)
        if problem:
            return f"{name}={problem}"
    return None
