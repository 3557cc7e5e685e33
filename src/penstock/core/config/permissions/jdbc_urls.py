"""URLs of JDBC as the drivers of known databases read them: hosts, files, and properties with their values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Properties = list[tuple[str, str]]
"""Names and values in the order of the URL; a name may come several times."""


class UrlError(ValueError):
    """A URL that has not got the form of its database's URLs; its text completes ``the URL …``."""


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    properties: Properties
    file: str | None = None
    """The database's file or folder on the machine that opens it; None for servers and databases in memory."""


_HOST = r"(?:\[[0-9A-Fa-f:.%\w]+\]|[\w.-]+)(?::\d{1,5})?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
_ONE_HOST = re.compile(_HOST)
_ACCOUNT = re.compile(r"[^:@/?#()\[\]\s]*(?::[^/?#()\[\]\s]*)?@")
"""User and password before a host."""
_DATABASE = re.compile(r"[^?#;&=:/\\\s]*")
_ORDINARY_FILE = re.compile(r"[^?;&=:#]*")


_LISTS = ("sessionvariables", "connectionattributes", "options", "sessionproperties")
"""Properties whose values are assignments themselves, in lower case."""


def _pairs(text: str, separator: str) -> Properties:
    found = []
    for part in text.split(separator):
        name, _, value = part.partition("=")
        if part.strip():
            found.append((name.strip(), value))
        if separator == "&" and ";" in value and name.strip().casefold() not in _LISTS:
            # Some versions of drivers take both.
            found += re.findall(r";\s*([\w.$-]+)\s*=([^;]*)", value)
    return found


def server_url(rest: str, separators: str = "?&", *, paths: int = 1, hosts: re.Pattern[str] = _HOSTS) -> ParsedUrl:
    """Read ``//host:port,host:port/database?name=value&…``; ``separators``: what the properties begin with, and what is
    between them. ``paths``: the names that may be in the path.
    """
    address, _, tail = rest.partition(separators[0])
    if not address.startswith("//"):
        raise UrlError("has no `//` and host")
    where, *path = address[2:].split("/")
    if not hosts.fullmatch(where):
        raise UrlError("has something else than hosts and ports before its database")
    if len(path) > paths or any(not _DATABASE.fullmatch(each) for each in path):
        raise UrlError("has something else than the name of a database after its hosts")
    return ParsedUrl(_pairs(tail, separators[1]))


def postgresql_url(rest: str) -> ParsedUrl:
    if rest.startswith("//"):
        head, _, tail = rest.partition("?")
        if head in ("//", "///") or (head.startswith("///") and _DATABASE.fullmatch(head[3:])):
            return ParsedUrl(_pairs(tail, "&"))  # the local server
        return server_url(rest)
    head, _, tail = rest.partition("?")
    if not _DATABASE.fullmatch(head.removeprefix("/")):
        raise UrlError("has something else than the name of a database")
    return ParsedUrl(_pairs(tail, "&"))


_SCHEMES = ("", "loadbalance:", "replication:", "sequential:", "load-balance-read:")
_GROUP = re.compile(r"\(([^()]*)\)")
_ENTRIES = frozenset({"host", "port", "type", "priority"})


def mysql_url(rest: str) -> ParsedUrl:
    """Read URLs of MySQL and MariaDB, also those with ``(host=…,port=…)`` and ``address=(host=…)(port=…)``."""
    scheme, slashes, address = rest.partition("//")
    if not slashes or scheme.casefold() not in _SCHEMES:
        raise UrlError("has something else than the kind of database, or of balancing, before `//`")
    address, _, tail = address.partition("?")
    where, _, path = address.partition("/")
    if not _DATABASE.fullmatch(path):
        raise UrlError("has something else than the name of a database after its hosts")
    properties = [
        pair
        for group in _GROUP.findall(where)
        for pair in _pairs(group, ",")
        if pair[0].casefold() not in _ENTRIES or not re.fullmatch(r"[\w.:-]*", pair[1].strip())
    ]
    for each in filter(None, re.sub(r"address\s*=\s*", "", _GROUP.sub("", where), flags=re.IGNORECASE).split(",")):
        plain = _ACCOUNT.sub("", each.strip().removeprefix("[").removesuffix("]"), count=1)
        if plain and not _ONE_HOST.fullmatch(plain) and not _ONE_HOST.fullmatch(each.strip()):
            raise UrlError("has something else than hosts and ports before its database")
    return ParsedUrl(properties + _pairs(tail, "&"))


_SQLSERVER = re.compile(r"//(?:(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?:\\[\w$-]+)?(?::\d{1,5})?)?")
_BRACED = re.compile(r"\s*([^=;{}]*)=(\{(?:[^}]|\}\})*\}|[^;{}]*)\s*(?:;|$)")


def sqlserver_url(rest: str) -> ParsedUrl:
    head, _, tail = rest.removeprefix("sqlserver:").partition(";")
    if not _SQLSERVER.fullmatch(head.strip()):
        raise UrlError("has something else than one host, instance and port before its properties")
    found, at = [], 0
    while tail[at:].strip("; "):
        if not (pair := _BRACED.match(tail, at)):
            raise UrlError("has something else than `name=value` or `name={value}` among its properties")
        found.append((pair[1].strip(), pair[2]))
        at = pair.end()
    return ParsedUrl(found)


def jtds_url(rest: str) -> ParsedUrl:
    if not rest.casefold().startswith("sqlserver:"):
        raise UrlError("is for another database than SQL Server")
    return server_url(rest[len("sqlserver:") :], ";;", hosts=_ONE_HOST)


_ORACLE_USER = re.compile(r"""(?:(?:"[^"]*"|[^"/@\s]*)(?:\[[\w$#]*\])?(?:/(?:"[^"]*"|[^"@\s]*))?)?@""")
_EASY = re.compile(
    rf"(?:(?:tcps?:)?//)?{_HOST}(?:,{_HOST})*(?:/[\w.$#-]*(?::(?:dedicated|shared|pooled))?(?:/[\w$#-]+)?)?",
    re.IGNORECASE,
)
_SID = re.compile(r"(?://)?[\w.-]+:\d{1,5}:[\w.$#-]+")
_ALIAS = re.compile(r"[A-Za-z][\w.$#-]*")
_DESCRIPTOR = re.compile(r"""\(\s*([\w.]+)\s*=\s*("[^"]*"|[^()="]*)""")
_DESCRIBED = frozenset(
    (
        *("description_list", "description", "address_list", "address", "protocol", "host", "port", "connect_data"),
        *("service_name", "sid", "server", "instance_name", "load_balance", "failover", "failover_mode", "type"),
        *("method", "retries", "delay", "backup", "source_route", "retry_count", "retry_delay", "connect_timeout"),
        *("transport_connect_timeout", "security", "ssl_server_cert_dn", "ssl_server_dn_match", "enable", "sdu"),
        *("recv_buf_size", "send_buf_size", "expire_time", "compression", "compression_levels", "level"),
        *("pool_connection_class", "pool_purity", "colocation_tag", "ur", "instance_role"),
    )
)


def oracle_url(rest: str) -> ParsedUrl:
    """Read URLs of Oracle's thin driver: those for OCI load a native library, others read files, LDAP or the web."""
    if not rest.casefold().startswith("thin:"):
        raise UrlError("is for another driver than the thin one")
    found = _ORACLE_USER.match(rest, len("thin:"))
    if found is None:
        raise UrlError("has no `@` after its user, or quotes that its user and password need")
    address, _, tail = rest[found.end() :].partition("?")
    properties = _pairs(tail, "&")
    address = address.strip()
    if address.startswith("("):
        rest_of_it = _DESCRIPTOR.sub("", address)
        if rest_of_it.replace(")", "").strip() or rest_of_it.count(")") != len(_DESCRIPTOR.findall(address)):
            raise UrlError("has a descriptor with something else than `(name=value)`")
        for name, value in _DESCRIPTOR.findall(address):
            if name.casefold() not in _DESCRIBED or (
                name.casefold() == "protocol" and value.strip().casefold() not in ("tcp", "tcps")
            ):
                properties.append((name, value.strip()))
    elif address and not any(form.fullmatch(address) for form in (_EASY, _SID, _ALIAS)):
        raise UrlError("has something else than host, port and service, a descriptor or an alias after `@`")
    return ParsedUrl(properties)


def sqlite_url(rest: str) -> ParsedUrl:
    path, _, tail = rest.partition("?")
    path = path.removeprefix("file:")
    in_memory = path in ("", ":memory:")
    if not in_memory and path.startswith(":"):
        raise UrlError("names something else than a file, or `:memory:`")
    # Percent-encoded, it is another file for `file:` than without, and both have to be allowed.
    return ParsedUrl(_pairs(tail, "&"), None if in_memory else path)


def derby_url(rest: str) -> ParsedUrl:
    if rest.startswith("//"):
        return server_url(rest, ";;", hosts=_ONE_HOST)
    path, _, tail = rest.partition(";")
    properties = _pairs(tail, ";")
    if path.startswith("memory:"):
        return ParsedUrl(properties)
    path = path.removeprefix("directory:")
    if re.match(r"(?i)(?:classpath|jar):", path):
        raise UrlError("names a database in a jar")
    return ParsedUrl(properties, path)


def duckdb_url(rest: str) -> ParsedUrl:
    path, _, tail = rest.partition(";")
    if path.strip() in ("", ":memory:"):
        return ParsedUrl(_pairs(tail, ";"))
    if not _ORDINARY_FILE.fullmatch(path):
        raise UrlError("names something else than a file, or `:memory:`")
    return ParsedUrl(_pairs(tail, ";"), path)


def db2_url(rest: str) -> ParsedUrl:
    """Read ``//host:port/database:name=value;…``."""
    found = re.fullmatch(rf"//{_HOST}/([^:;=/]*)(?::(.*))?", rest, re.DOTALL)
    if found is None:
        raise UrlError("has something else than one host, port and database before its properties")
    return ParsedUrl(_pairs(found[2] or "", ";"))


def teradata_url(rest: str) -> ParsedUrl:
    found = re.fullmatch(r"//[\w.-]+(?:/(.*))?", rest, re.DOTALL)
    if found is None:
        raise UrlError("has something else than a host before its properties")
    return ParsedUrl(_pairs(found[1] or "", ","))


def clickhouse_url(rest: str) -> ParsedUrl:
    scheme, slashes, tail = rest.partition("//")
    if scheme.casefold() not in ("", "http:", "https:"):
        raise UrlError("has something else than `http:` or `https:` before its hosts")
    return server_url(slashes + tail)


_ANY_SEPARATOR = re.compile(r"[?&;,:/(){}@#\s]")


def any_properties(rest: str) -> Iterator[tuple[str, str]]:
    """Yield the properties in a URL of unknown form, whatever separates them: all words before a ``=``."""
    for part in _ANY_SEPARATOR.split(rest):
        name, found, value = part.partition("=")
        if found:
            yield name.strip(), value
