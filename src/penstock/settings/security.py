"""Settings that limit what clients of the REST interface and configurations of connectors may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.validators import at_least


def define_rest_limits(config: ConfigDef) -> None:
    config.define(
        "penstock.rest.max.body.bytes",
        ConfigType.INT,
        16 * 2**20,
        at_least(1024),
        Importance.LOW,
        "The maximum size of a request's body; a larger one is answered with 413.",
    )
    for what, default in (("header", 30_000), ("body", 60_000)):
        config.define(
            f"penstock.rest.{what}.timeout.ms",
            ConfigType.INT,
            default,
            at_least(100),
            Importance.LOW,
            f"The total time for a client to send the {what} of a request; then its connection is closed.",
        )
    config.define(
        "penstock.rest.max.connections",
        ConfigType.INT,
        512,
        at_least(8),
        Importance.LOW,
        "The maximum number of connections of a listener. A further one replaces the one that has been idle for the "
        "longest time.",
    )
    config.define(
        "penstock.rest.allowed.hosts",
        ConfigType.LIST,
        "",
        importance=Importance.LOW,
        documentation="Names by which clients may call a worker that asks them for no credentials, such as that of a "
        "proxy or a service of Kubernetes; `*.example.com` for all below a domain, `*` for any name. Its addresses and "
        "its own names are always accepted. Others are answered with 403, or web pages could call it by a name of "
        "theirs (DNS rebinding).",
    )


def define_permissions(config: ConfigDef) -> None:
    """Define what configurations of connectors may name. Patterns have ``*`` for any text."""
    for name, default, meaning in (
        (
            "plugins.allowed",
            "*",
            "Patterns of the classes that connectors may use, as connectors, converters, transforms and predicates.",
        ),
        ("plugins.denied", "", "Patterns of the classes that connectors may not use, whatever is allowed."),
        (
            "topics.denied",
            "",
            "Patterns of topics on the worker's cluster that connectors may neither read nor write, such as the "
            "internal topics of other groups of workers. This worker's own topics and the offsets topics of its "
            "connectors are refused in any case.",
        ),
        (
            "functions.allowed",
            None,
            "Patterns of the Python functions and classes, as `module.function`, that the "
            "transform PythonFunction and settings of MirrorMaker's connectors may name, by the modules that define "
            "them. By default those in the modules of plugins: of `plugin.path`, and installed as `penstock.plugins`. "
            "A module that is not allowed is not imported.",
        ),
        (
            "spark.formats.allowed",
            None,
            "The formats of SparkSink and SparkSource. By default those of files and "
            "tables, `jdbc`, `rate`, and `kafka`, whose options are subject to "
            "`connector.client.config.override.policy`.",
        ),
        (
            "spark.options.allowed",
            "",
            "Patterns of options (`option.*`) that SparkSink and SparkSource may give to Spark besides the "
            "harmless ones of each format, as `format.option`: `csv.badRecordsPath`, `snowflake.*`. Functions of "
            "`sql` may have them too. Those that name files are subject to `penstock.paths.allowed`.",
        ),
        (
            "spark.functions.allowed",
            "",
            "Functions that `sql` of SparkSink and SparkSource may call besides Spark's harmless ones, by their names, "
            "such as one of `spark.sql.extensions`.",
        ),
        (
            "paths.allowed",
            None,
            "The folders, as paths or URIs, whose files connectors may name: the file connectors, SparkSink, "
            "SparkSource and the tables that they read or change by keys, databases in files, PostgresSource for TLS, "
            "and any plugin in settings of key stores, certificates, keytabs, logins and credentials, and as URLs of "
            "files. By default all.",
        ),
        (
            "jdbc.databases.allowed",
            None,
            "The kinds of databases, as in `jdbc:KIND:` of their URLs, that the JDBC connectors and Spark's format "
            "`jdbc` may open. By default those whose properties are known: `clickhouse`, `db2`, `derby`, `duckdb`, "
            "`mariadb`, `mysql`, `oracle`, `postgresql`, `redshift`, `sap`, `snowflake`, `sqlite`, `sqlserver`, "
            "`teradata`, `trino`, `vertica` and the older names of some. Wrappers, and databases that run code by "
            "their URLs, such as `h2`, are not among them.",
        ),
        (
            "jdbc.properties.allowed",
            "",
            "Patterns of properties of JDBC drivers, as `KIND:NAME` or `KIND:NAME=VALUE`, such as `mysql:initSql`, "
            "that connectors may set beside those that are known to be safe.",
        ),
        (
            "singer.taps.allowed",
            "",
            "Patterns of the paths of executables that SingerSource may run, such as `/opt/taps/*/bin/tap-*`. By "
            "default none.",
        ),
        (
            "singer.targets.allowed",
            "",
            "Patterns of the paths of executables that SingerSink may run, such as `/opt/targets/*/bin/target-*`. By "
            "default none.",
        ),
        (
            "dlt.sources.allowed",
            "",
            "Patterns of the sources of dlt that DltSource may run, such as `/opt/dlt/sources/*.py:*` or "
            "`dlt.sources.rest_api:rest_api_source`. By default none.",
        ),
        (
            "dlt.pythons.allowed",
            "",
            "Patterns of the paths of Pythons that DltSource may use, such as `/opt/dlt/envs/*/bin/python`. By default "
            "only that of the worker.",
        ),
        (
            "plugins.environment",
            "",
            "Patterns of the worker's environment variables that processes of plugins get beside those of the system, "
            "Java, Python, Spark, Kerberos and proxies, such as `AWS_*`. Credentials of a cloud are passed on if the "
            "worker's own clients log in at it.",
        ),
    ):
        config.define(f"penstock.{name}", ConfigType.LIST, default, importance=Importance.LOW, documentation=meaning)
    config.define(
        "penstock.jdbc.derby.queries",
        ConfigType.BOOLEAN,
        False,
        importance=Importance.LOW,
        documentation="Whether JdbcSource may have a `query` or `query.suffix` for Derby, whose SQL can call Java code "
        "in Spark's own process.",
    )


def define_access(config: ConfigDef) -> None:
    """Define who may use the REST interface, and the audit of it."""
    for name, default, meaning in (
        ("authorization.file", None, "A YAML file with the roles of users and groups; read again when it changes."),
        ("authentication.htpasswd", None, "A file of users and their passwords, hashed with bcrypt (`htpasswd -B`)."),
        (
            "authentication.oidc.jwks",
            None,
            "File or URL of the public keys (JWKS) of an OIDC provider, whose bearer tokens are then accepted.",
        ),
        ("authentication.oidc.issuer", None, "The issuer (`iss`) that tokens must have."),
        ("authentication.oidc.audience", None, "The audience (`aud`) that tokens must have."),
        ("authentication.oidc.principal.claim", "sub", "The claim that is the name of the user."),
        ("authentication.oidc.groups.claim", "groups", "The claim that has the groups of the user."),
        ("audit.topic", None, "A topic for the lines of the log `penstock.audit`."),
    ):
        config.define(f"penstock.{name}", ConfigType.STRING, default, importance=Importance.LOW, documentation=meaning)
    config.define(
        "penstock.rest.forwarding.key",
        ConfigType.PASSWORD,
        None,
        importance=Importance.LOW,
        documentation="A secret of at least 32 characters, the same on all workers, with which a worker proves to "
        "another who the client of a request is that it forwards, where certificates say who clients are. Several, "
        "separated by commas, are all accepted, and the first one is used, so that a new one can be introduced.",
    )
    config.define(
        "penstock.authentication.certificates",
        ConfigType.BOOLEAN,
        False,
        importance=Importance.LOW,
        documentation="Whether the certificate of a client (`ssl.client.auth`) says who it is, by its common name.",
    )


_CLOUDS = {
    "software.amazon.msk.auth.iam.": "AWS_*",
    "com.azure.spring.": "AZURE_*, IDENTITY_*, MSI_*",
    "com.google.cloud.hosted.kafka.auth.": "GOOGLE_*, GCLOUD_*, CLOUDSDK_*",
}
"""Variables with credentials of clouds, by what classes begin with by which Kafka's clients log in there."""


def plugin_environment(config: Mapping[str, str], allowed: Iterable[str]) -> str:
    """Return the patterns of variables that processes of plugins get beside the known ones, separated by commas.

    ``config`` has the worker's settings, ``allowed`` those of ``penstock.plugins.environment``. Tasks have clients with
    the worker's login.
    """
    values = [value for name, value in config.items() if name.endswith(("handler.class", "jaas.config"))]
    clouds = (names for begin, names in _CLOUDS.items() if any(begin in value for value in values))
    return ", ".join([*allowed, *clouds])
