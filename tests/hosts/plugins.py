"""Folders for ``plugin.path``: the small Java plugins of these tests, and real ones in pinned versions.

The small ones are compiled from ``java/``, a folder each: ``conduct`` (connectors that do as their configuration says:
throw, exit, hang, leak threads …), ``chain`` (a transform, a predicate, a converter), ``everything`` (all of Connect's
types), ``defined`` (settings of all sorts), ``library1`` and ``library2`` (a library and a transform, each in two
versions), ``bundled`` (a converter with the name of Kafka's own), ``newer`` (a source for Kafka 4.4).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from penstock.demo.databases.connectors import DEBEZIUM
from penstock.embedded.archives import Archive, unpacked
from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import jar_of
from support.jars import listed
from support.machine import missing

HERE = Path(__file__).parent
JDBC = Archive(
    "c23af8d416f0f801ffb0271b1a8fd9b5360ff8d66b0dd650e066bb56ecfddc05",
    *("io.debezium", "debezium-connector-jdbc", "3.6.0.Final", "plugin"),
    title="Debezium's JDBC sink (58 MB)",
)

OLDER_DEBEZIUM = Archive(
    "408b00c073b27ddaa7af34684f60fcf5bbf6605de68a8662ec9462f2a88880d2",
    *("io.debezium", "debezium-connector-postgres", "3.6.1.Final", "plugin"),
    title="Debezium's source for PostgreSQL, the release before (5 MB)",
)


def hadoop() -> list[Path]:
    """Return PySpark's jars of Hadoop, which Iceberg's Hadoop catalogue needs."""
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    return sorted((Path(pyspark.origin).parent / "jars").glob("hadoop-client-*.jar"))


REAL: dict[str, Callable[[], list[Path]]] = {
    "apicurio": lambda: listed(HERE / "jars" / "apicurio.jars"),
    "connect-file": lambda: listed(HERE / "jars" / "connect-file.jars"),
    "connect-mirror": lambda: listed(HERE / "jars" / "connect-mirror.jars"),
    "debezium-postgres": lambda: sorted(unpacked(DEBEZIUM).rglob("*.jar")),
    "debezium-postgres-3.6": lambda: sorted(unpacked(OLDER_DEBEZIUM).rglob("*.jar")),
    "debezium-jdbc": lambda: sorted(unpacked(JDBC).rglob("*.jar")),
    "iceberg": lambda: listed(HERE / "jars" / "iceberg.jars") + hadoop(),
    "mongo": lambda: listed(HERE / "jars" / "mongo.jars"),
}


MANIFESTS = {
    "mongo": {
        "org.apache.kafka.connect.sink.SinkConnector": "com.mongodb.kafka.connect.MongoSinkConnector",
        "org.apache.kafka.connect.source.SourceConnector": "com.mongodb.kafka.connect.MongoSourceConnector",
    }
}
"""Service manifests missing from plugins that only a scan finds, as ``connect-plugin-path.sh sync-manifests`` adds
them.
"""


def plugin_path(folder: Path, *names: str, compiled_against: list[Path] | None = None) -> str:
    """Put these plugins into ``folder``, and return it as a value for ``plugin.path``. Skips the test if one is
    unavailable.

    The small ones are compiled against the host's jars of Kafka, or ``compiled_against``.
    """
    for name in names:
        try:
            found = REAL[name]() if name in REAL else compiled_against or jars("connect")
        except EmbeddedError as error:
            missing(f"no jars for this test: {error}")
        if name not in REAL:
            found = [jar_of(HERE / "java" / name, f"test-{name}", found)]
        plugin = folder / name
        plugin.mkdir(parents=True, exist_ok=True)
        for jar in found:
            link = plugin / jar.name
            if not link.exists():
                link.symlink_to(jar)
        if name in MANIFESTS:
            with ZipFile(plugin / "manifests.jar", "w") as manifests:
                for interface, cls in MANIFESTS[name].items():
                    manifests.writestr(ZipInfo(f"META-INF/services/{interface}"), cls)
    return str(folder)
