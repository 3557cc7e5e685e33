"""Settings with a part that the user chooses, which no definition lists: ``<...>`` stands for that part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigKey, ConfigType
from penstock.connectors.jdbc.connection import PREFIX
from penstock.settings.telemetry import LINEAGE_TRANSPORT
from penstock.spark.settings import SLOTS

_PART = re.compile("<[a-z ]+>")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """A part in the middle is one word; the last one may have dots, as names of Spark's settings have."""
    inner = _PART.sub("<>", name).removesuffix("<>")
    end = ".+" if name.endswith(">") else ""
    return re.compile("[^.]+".join(map(re.escape, inner.split("<>"))) + end)


def matching(settings: Mapping[str, ConfigKey], name: str) -> ConfigKey | None:
    """The definition of this name, or else that of its family."""
    if name in settings:
        return settings[name]
    return next((key for own, key in settings.items() if "<" in own and _pattern(own).fullmatch(name)), None)


_REQUIRED = ("type", "config.providers.<provider>.class")
_DEFAULTS = {"spark.master": f"local[{SLOTS}]", **dict.fromkeys(_REQUIRED, NO_DEFAULT)}


def _keys(documented: Mapping[str, str]) -> Mapping[str, ConfigKey]:
    config = ConfigDef()
    for name, documentation in documented.items():
        config.define(name, ConfigType.STRING, _DEFAULTS.get(name), documentation=documentation)
    return config.keys


def _internal_topic(kind: str) -> dict[str, str]:
    text = f"A setting of the {kind} topic, such as `segment.bytes`, given to the broker when the worker creates it."
    return {f"{kind}.storage.<setting>": text}


_TLS = "A setting `ssl.*` of {} alone; if one is given, none is taken from the worker's own `ssl.*`."

OF_WORKERS = _keys(
    {
        "spark.master": "Where tasks run: the address of a Spark cluster, or a local Spark with so many slots.",
        "spark.cores.max": "The cores that Penstock takes of a cluster at `spark://`, where it is required.",
        "spark.<setting>": "A setting of Spark, for the application of hosted tasks and for that of queries.",
        "penstock.query.spark.<setting>": "A setting of Spark for the application of queries alone; it takes "
        "precedence over `spark.*` of the same name.",
        "config.providers.<provider>.class": "The class of the config provider of this name, which `config.providers` "
        "lists.",
        "config.providers.<provider>.param.<parameter>": "A parameter of the config provider of this name.",
        "listeners.https.<setting>": _TLS.format("the listeners at https and of requests to other workers"),
        "admin.listeners.https.<setting>": _TLS.format("the listeners of `admin.listeners` at https"),
        "metrics.context.<label>": "A label for Java's metric reporters. Without effect here, where there are none.",
        f"{LINEAGE_TRANSPORT}<setting>": f"A setting of the transport that `{LINEAGE_TRANSPORT}type` names, under its "
        "name in openlineage-python.",
    }
)
OF_DISTRIBUTED_WORKERS = _keys(
    {name: text for kind in ("config", "offset", "status") for name, text in _internal_topic(kind).items()}
)
OF_TOPIC_GROUPS = _keys(
    {"<setting>": "A setting of the topics that are created, such as `retention.ms`; the broker checks its value."}
)


def of_alias(what: str, listed: str) -> Mapping[str, ConfigKey]:
    """Return the settings that every transform, or every predicate, has besides its own."""
    return _keys(
        {
            "type": f"The class of the {what} of this name, which `{listed}` lists.",
            "plugin.version": f"The version, or range of versions, that the class of the {what} must have.",
        }
    )


def _mirror(*classes: str) -> dict[str, str]:
    """Return the settings ``<class>.class`` of a mirror connector."""
    found = {}
    for cluster in ("source", "target"):
        found[f"{cluster}.cluster.<setting>"] = (
            f"Addresses and security of all clients of the {cluster} cluster: `bootstrap.servers`, `ssl.*`, `sasl.*`, "
            "`security.protocol`."
        )
        for client in ("consumer", "producer", "admin"):
            found[f"{cluster}.{client}.<setting>"] = (
                f"A setting of the connector's {client} clients of the {cluster} cluster; it takes precedence over "
                f"`{client}.*` and `{cluster}.cluster.*`."
            )
    for name in classes:
        found[f"{name}.<setting>"] = (
            f"A setting of a class of your own that `{name}.class` names; its `configure` gets it under this name."
        )
    return found


_OPTION = "An option of Spark's {} for the format, passed on as it is."
_ICEBERG = {
    "iceberg.catalog.<property>": "A property of the Iceberg catalog, under its name in pyiceberg: `type` (rest, sql, "
    "hive, glue), `uri`, `warehouse`, `credential`, `s3.endpoint`, ...",
    "iceberg.table.<table>.partition-by": "The partition fields of this table when it is created.",
    "iceberg.table.<table>.id-columns": "The columns that identify a row of this table when it is created.",
    "iceberg.table.<table>.commit-branch": "The branch of this table that commits go to.",
    "iceberg.tables.auto-create-props.<property>": "A property of tables that are created.",
    "iceberg.tables.write-props.<property>": "A property of the writer of files, in place of the table's, such as "
    "`write.target-file-size-bytes`.",
}
_OF_PLUGINS = {
    "penstock.connectors.SparkSink": _keys({"option.<option>": _OPTION.format("writer"), **_ICEBERG}),
    "penstock.connectors.SparkSource": _keys({"option.<option>": _OPTION.format("reader")}),
    **dict.fromkeys(
        ("io.confluent.connect.jdbc.JdbcSinkConnector", "io.confluent.connect.jdbc.JdbcSourceConnector"),
        _keys({f"{PREFIX}<property>": "A property of the JDBC driver, which gets it without the prefix."}),
    ),
    **{
        f"org.apache.kafka.connect.mirror.Mirror{name}Connector": _keys(_mirror("replication.policy", *filters))
        for name, filters in {
            "Source": ("topic.filter", "config.property.filter"),
            "Checkpoint": ("topic.filter", "group.filter"),
            "Heartbeat": (),
        }.items()
    },
}


def of_plugin(java_name: str) -> Mapping[str, ConfigKey]:
    return _OF_PLUGINS.get(java_name, {})
