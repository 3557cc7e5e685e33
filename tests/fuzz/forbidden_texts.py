"""Paths, SQL and URLs of databases that would read files, run programs or reach other hosts."""

from __future__ import annotations

PLACES = (
    "/etc/passwd", "ALLOWED/../x", "ALLOWED/./../../etc/passwd", "ALLOWED/out/x", "ALLOWED/passwd", "ALLOWED2/x",
    "ALLOWED/a\0b", "ALLOWED/a\x1b[2J", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/zero",
    "//etc/passwd", "ALLOWED/%2e%2e/x", "ALLOWED/\u202ex", "/",
)  # fmt: skip
HADOOP_PLACES = (
    *PLACES, "file:/etc", "file:///etc/passwd", "FILE:/etc", "file://h/etc", "ALLOWED/\\.\\./x",
    "ALLOWED/{a,../../etc}",
    "ALLOWED/%252e%252e/x", "s3a://bucket/x", "hdfs://h/x", "viewfs://h/x", "ALLOWED/.\\./x", "etc/passwd", "http://h/x",
    "file:ALLOWED/%2E%2E/x", "har:/etc", "ALLOWED/{out,x}", "file:/ALLOWED/../etc", "s3a://key:canary7f3a-path@bucket/x",
)  # fmt: skip
FILE_SETTINGS = (
    "consumer.override.ssl.truststore.location", "producer.override.ssl.keystore.location",
    "admin.override.ssl.truststore.location", "value.converter.schema.registry.ssl.truststore.location",
    "key.converter.schema.registry.ssl.keystore.location", "transforms.a.ssl.keystore.location",
    "source.cluster.ssl.truststore.location", "database.ssl.keystore", "database.sslkey", "keyfile",
    "schema.history.internal.file.filename", "ssl_truststore_location", "sslTrustStoreLocation", "a.krb5.conf",
    "oracle.wallet.location", "gcp.credentials.file.path", "gcs.key.file.path", "token.file.name", "private.key.path",
    "errors.log.file", "ssl.ca.location",
)  # fmt: skip
JAAS = (
    "x.Login required useKeyTab=true keyTab=\"{}\" principal=\"a@B\" password=\"canary7f3a-jaas\";",
    "x.Login required TICKETCACHE='{}';", "x.Login required keyStoreURL='file:{}';",
    "x.Login required\r\n keyTab=\"{}\"\r\n;", "x.Login required /* x */ keyTab=\"FILE:{}\";",
    "x.Login required tokenFile=\"{}\";", "x.Login required credentialsPath=\"{}\";",
)  # fmt: skip
SIMPLE = ("/etc/passwd", "ALLOWED/../x", "ALLOWED/out/x", "/proc/self/environ", "ALLOWED2/x", "~/x")
EXPRESSIONS = (
    "reflect('java.lang.System', 'exit', '1')", "java_method('java.lang.Runtime', 'getRuntime')",
    "try_reflect('java.lang.System', 'getenv')", "`reflect`('java.lang.System', 'exit', '1')",
    "system.builtin.reflect('java.lang.System', 'exit', '1')", "current_user()", "session_user()",
    "(SELECT max(value) FROM text.`/etc/passwd`)", "EXISTS (SELECT 1 FROM csv.`file:/etc/passwd`)",
    "id IN (SELECT id FROM parquet.`/etc`)", "(SELECT 1 FROM other)", "(SELECT 1 FROM global_temp.x)",
    "from_xml(name, 'a INT', map('rowValidationXSDPath', '/etc/passwd'))", "(SELECT 1 FROM spark_catalog.x.y)",
    "from_xml(name, 'a INT', map('rowValidationXSDPath', concat('/etc', '/passwd')))",
    "from_avro(name, '{}', map('avroSchemaUrl', 'file:/etc/passwd'))", "java_method('x', 'y', id)",
    "from_json(name, '{\"type\":\"udt\",\"class\":\"org.example.Evil\"}')", "version(reflect('a', 'b'))",
    "from_protobuf(name, 'x', '/etc/passwd')", "to_json(named_struct('a', 1), map('no.such.option', 'x'))",
    "spark_partition_id(reflect('a', 'b'))", "no_such_function(1)", "(SELECT 1 FROM json.`s3a://b/x`)",
)  # fmt: skip
AROUND = (
    "SELECT {} AS x FROM records", "SELECT * FROM records WHERE {} IS NOT NULL", "SELECT * FROM records ORDER BY {}",
    "FROM records |> SELECT {} AS x", "FROM records |> WHERE {} IS NULL |> SELECT id", "FROM records |> SET id = {}",
    "FROM records |> EXTEND {} AS x", "FROM records |> AGGREGATE max({}) AS x",
    "SELECT sum(id) OVER w FROM records WINDOW w AS (PARTITION BY {})",
    "SELECT sum(id) OVER (ORDER BY {}) FROM records", "SELECT max({}) FROM records GROUP BY id HAVING {} IS NULL",
    "WITH a AS (SELECT {} AS x FROM records) SELECT * FROM a", "SELECT * FROM records, LATERAL (SELECT {} AS x)",
    "SELECT transform(array(1), y -> {}) FROM records", "SELECT CASE WHEN true THEN 1 ELSE {} END FROM records",
    "SELECT id FROM records UNION ALL SELECT {} FROM records", "SELECT explode(array({})) FROM records",
    "SELECT * FROM records a JOIN records b ON a.id = {}", "SELECT * FROM VALUES ({}) AS t(x)",
    "SELECT * FROM records LATERAL VIEW explode(array({})) t AS x", "SELECT (SELECT {}) FROM records",
    "SELECT /*+ COALESCE(1) */ {} FROM records", "SELECT * FROM records PIVOT (max({}) FOR id IN (1, 2))",
    "SELECT * FROM range({})", "SELECT filter(array(1), y -> y = {}) FROM records", "SELECT map('a', {}) FROM records",
)  # fmt: skip
STATEMENTS = (
    "SET spark.sql.runSQLOnFiles=true", "CREATE TABLE x AS SELECT * FROM records", "DROP TABLE x", "ADD JAR '/x.jar'",
    "INSERT INTO x SELECT * FROM records", "CREATE FUNCTION f AS 'org.example.Evil'", "LIST FILES", "USE x",
    "SELECT 1; SELECT 2", "EXECUTE IMMEDIATE 'SELECT 1'", "BEGIN SELECT 1; END", "EXPLAIN SELECT 1", "SHOW TABLES",
    "SELECT * FROM text.`/etc/passwd`", "FROM csv.`/etc`", "TABLE other", "CACHE TABLE records", "RESET", "CALL x.y()",
    "SELECT TRANSFORM (id) USING 'sh -c id' AS x FROM records", "FROM records |> UNION ALL (SELECT 1 FROM csv.`/etc`)",
    "FROM records MAP id USING 'cat' AS x", "DESCRIBE x", "INSERT OVERWRITE DIRECTORY '/etc' USING csv SELECT 1",
    "FROM records |> JOIN text.`/etc/passwd`", "SELECT * FROM read_files('/etc')", "SELECT * FROM read_state('x', 'y')",
    "WITH a AS (SELECT 1) INSERT INTO x SELECT * FROM a", "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')",
)  # fmt: skip
URLS = (
    "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://h/y';PASSWORD={}", "jdbc:p6spy:postgresql://h/d?password={}",
    "jdbc:log4jdbc:mysql://u:{}@h/d", "jdbc:otel:mysql://h/d?password={}", "jdbc:hsqldb:mem:x;password={}",
    "jdbc:aws-wrapper:postgresql://h/d?wrapperPlugins=x&password={}", "jdbc:mysql:aws://h/d?password={}",
    "jdbc:ignite:cfg://file:///x.xml?password={}", "jdbc:ignite:thin://h?factory=x&password={}",
    "jdbc:mysql://h/d?autoDeserialize=true&queryInterceptors=x&password={}",
    "jdbc:mysql://(host=h,allowLoadLocalInfile=true,password={})/d",
    "jdbc:postgresql://h/d?socketFactory=x.ClassPathXmlApplicationContext&password={}",
    "jdbc:postgresql://h/d?socket%46actory=x&password={}", "jdbc:postgresql://h/d?sslrootcert=/etc/x&password={}",
    "jdbc:oracle:thin:u/{}@config-file:///etc/x", "jdbc:oracle:thin:u/{}@ldap://h/x", "jdbc:jndi:ldap://h/x",
    "jdbc:sqlserver://h;socketFactoryClass=x;password={}", "jdbc:db2://h/d:password={};clientRerouteServerListJNDIName=x;",
    "jdbc:duckdb:/etc/x?password={}", "jdbc:duckdb:;session_init_sql_file=/x.sql;motherduck_token={}",
    "jdbc:sqlite:/etc/x?password={}", "jdbc:sqlite:ALLOWED/x?enable_load_extension=true&password={}",
    "jdbc:derby:/etc/x;password={}", "jdbc:hive2://h/d;initFile=x;password={}", "%6Adbc:mysql://u:{}@h/d",
    "jdbc:tc:postgresql:9:///d?TC_INITSCRIPT=file:/x&password={}", "java:comp/env/x",
)  # fmt: skip
