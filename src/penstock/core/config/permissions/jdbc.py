"""JDBC URLs and properties that make a driver run code, read files or load classes, and SQL that is safe for SQLite.

The names are those of the drivers' documentation and of their security advisories. A driver whose database runs inside
of Spark's Java and takes Java code by SQL is not allowed at all.

SQL for SQLite may only read the file of the URL: it is one SELECT, or a suffix of one. Statements that open other files
(ATTACH, VACUUM INTO, ...) are statements of their own, and functions that load code have names. The SQL is put together
of parts that are checked one by one, so no part may end inside of a quote or comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

IN_JAVA = ("h2", "hsqldb", "calcite", "modeshape", "jndi")
"""Kinds of databases whose URLs or statements name Java code to run."""
PROPERTIES = frozenset(
    {
        # H2 and others: statements and scripts
        *("init", "initsql", "initscript", "runscript", "model"),
        # PostgreSQL, Redshift and their kin
        *("socketfactory", "socketfactoryarg", "sslfactory", "sslfactoryarg", "sslhostnameverifier"),
        *("sslpasswordcallback", "authenticationpluginclassname", "loggerfile", "loggerlevel", "xmlfactoryfactory"),
        *("iniinfo", "inifile", "pluginname", "plugin_name"),
        # MySQL and MariaDB
        *("autodeserialize", "queryinterceptors", "statementinterceptors", "exceptioninterceptors"),
        *("connectionlifecycleinterceptors", "detectcustomcollations", "propertiestransform", "clientinfoprovider"),
        *("allowloadlocalinfile", "allowloadlocalinfileinpath", "allowurlinlocalinfile", "allowlocalinfile"),
        *("authenticationplugins", "defaultauthenticationplugin", "serveraffinityorder", "profilereventhandler"),
        *("logger", "parseinfocachefactory"),
        # SQL Server, Oracle, Db2, Informix, Sybase
        *("socketfactoryclass", "socketfactoryconstructorarg", "trustmanagerclass", "trustmanagerconstructorarg"),
        *("accesstokencallbackclass",),
        *("clientrerouteserverlistjndiname", "clientrerouteserverlistjndicontext", "tracefile", "tracedirectory"),
        *("sqlhosts_type", "ldap_url", "sslsocketfactory", "ssltrustmanager"),
        # SQLite, Teradata, Hive, Snowflake, others
        *("enable_load_extension", "browser", "log_path", "krbjaasfile", "jaas_config", "sslsocketfactoryarg"),
        *("jaasapplicationname", "jndi", "jndiname", "datasourcename", "initfile"),
        # Derby: replication takes Java objects from another machine; the others read and write folders
        *("startmaster", "slavehost", "startslave", "createfrom", "restorefrom", "rollforwardrecoveryfrom"),
        *("logdevice",),
    }
)
STATEMENTS = frozenset({"sessioninitstatement", "query", "preparequery"})
"""Spark's options that have SQL."""
_SEPARATORS = re.compile(r"[?&;,:/(){}]")
_LOOK_UP = re.compile(r"(?:ldaps?|rmi|iiop|dns|jndi|corba\w*)://?", re.IGNORECASE)


def jdbc_problem(options: Mapping[str, str | None]) -> tuple[str, str] | None:
    """Return the option at fault, and a sentence; None if nothing is wrong. Options are without ``option.``."""
    for name, value in options.items():
        if name.casefold() == "url":
            for url in (value or "", unquote(value or "")):
                if problem := _of_url(url):
                    return name, problem
        if name.casefold() in PROPERTIES:
            return name, f"the property {name} can make the driver run code or read files"
    return None


def statement_problems(options: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield the problems, as ``jdbc_problem`` does, of options that can have statements: Spark's format ``jdbc``.

    Derby's statements name Java methods to call; SQLite's open any file.
    """
    for name, value in options.items():
        match name.strip().casefold(), database_kind(value or ""):
            case "url", "derby":
                yield name, "databases of kind derby run code in Spark's own process"
            case "url", "sqlite":
                yield from (
                    (each, f"{each} can open other files than that of the URL")
                    for each in options
                    if each.strip().casefold() in STATEMENTS
                )


def database_kind(url: str) -> str:
    return url.strip().casefold().removeprefix("jdbc:").lstrip().partition(":")[0]


def database_file(url: str) -> str | None:
    """Return the file or folder that a URL of SQLite or Derby names; None for servers and databases in memory."""
    plain = url.strip()
    # In any case, as SQLite's driver takes it.
    kind, _, rest = (plain[5:] if plain[:5].casefold() == "jdbc:" else plain).partition(":")
    if kind.casefold() == "sqlite":
        path = unquote(rest).removeprefix("file:").partition("?")[0]
        return None if path in ("", ":memory:") else path
    if kind.casefold() == "derby" and not rest.startswith(("//", "memory:")):
        path = rest.partition(";")[0]
        for prefix in ("directory:", "classpath:", "jar:"):
            path = path.removeprefix(prefix)
        return path
    return None


def _of_url(url: str) -> str | None:
    if not url.strip().casefold().startswith("jdbc:"):
        return None  # Spark and the drivers refuse it
    kind = url.strip()[5:].lstrip().partition(":")[0].casefold()
    if kind in IN_JAVA:
        return f"databases of kind {kind} run code in Spark's own process"
    if _LOOK_UP.search(url):
        return "the URL names a directory that the driver would load code from"
    for part in _SEPARATORS.split(url):
        name = part.partition("=")[0].strip().casefold()
        if "=" in part and name in PROPERTIES:
            return f"the property {name} in the URL can make the driver run code or read files"
    return None


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
