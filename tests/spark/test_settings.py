from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.spark.remote import refuse_elsewhere
from penstock.spark.settings import HostSettings, slots, start


def test_by_default_spark_is_local_with_many_slots() -> None:
    conf = HostSettings().conf()
    assert slots(conf) == 512
    assert conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.pyspark.python"] == sys.executable


def test_what_the_user_sets_goes_to_spark() -> None:
    properties = {"spark.master": "local[7]", "spark.ui.enabled": "true", "bootstrap.servers": "b:9092"}
    conf = HostSettings.of(properties).conf()
    assert slots(conf) == 7
    assert conf["spark.ui.enabled"] == "true"
    assert "bootstrap.servers" not in conf


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.speculation", "true"),
        ("spark.task.maxFailures", "4"),
        ("spark.python.worker.killOnIdleTimeout", "true"),
        ("spark.python.daemon.module", "pyspark.daemon"),
    ],
)
def test_what_would_break_hosted_tasks_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}={value} can't be used, because .*: leave it out, or set it to "):
        HostSettings(spark={key: value}).conf()


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("spark.remote", "sc://h:15002/;token=canary", "spark.remote=sc://h:15002/"),
        ("spark.remote", "sc://me:canary@h:15002", r"spark.remote=sc://\[hidden\]@h:15002"),
        ("spark.api.mode", "connect", "spark.api.mode=connect"),
    ],
)
def test_spark_connect_is_refused_with_the_setting_to_use_instead(key: str, value: str, shown: str) -> None:
    why = "can't be used, because neither hosted tasks nor queries run over Spark Connect.* set spark.master to "
    for make in (HostSettings(spark={key: value}).conf, HostSettings(spark={key: value}).query_conf):
        with pytest.raises(ConfigError, match=f"^{shown} {why}") as raised:
            make()
        assert "canary" not in str(raised.value)
    with pytest.raises(ConfigError, match=f"^penstock.query.{shown} {why}"):
        HostSettings(query_spark={key: value}).query_conf()
    assert HostSettings(spark={"spark.api.mode": "classic"}).conf()["spark.api.mode"] == "classic"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("spark.ui.enabled false\nspark.remote\tsc://me:canary@h:1/;token=canary", "spark.remote=sc://[hidden]@h:1/"),
        ("spark.api.mode=Connect ", "spark.api.mode=Connect"),
    ],
)
def test_spark_connect_in_the_defaults_of_spark_is_refused_when_spark_starts(
    text: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text(text)
    with pytest.raises(ConfigError) as refused:
        start(HostSettings().conf())
    assert str(refused.value).startswith(f"spark-defaults.conf: {shown} can't be used, because neither hosted tasks ")
    assert "canary" not in str(refused.value)


def test_spark_connect_in_the_environment_is_refused_when_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://me:canary@h:1/;token=canary")
    with pytest.raises(ConfigError) as refused:
        start(HostSettings().conf())
    assert str(refused.value).startswith("SPARK_REMOTE=sc://[hidden]@h:1/ in the environment can't be used, because ")
    assert "canary" not in str(refused.value)


def test_defaults_of_spark_without_spark_connect_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    refuse_elsewhere()  # there is no file
    (tmp_path / "spark-defaults.conf").write_text("spark.api.mode classic\nspark.executor.cores 2\n")
    refuse_elsewhere()
    (tmp_path / "spark-defaults.conf").write_text("spark.api.mode connect\n")
    with pytest.raises(ConfigError, match=r"spark\.api\.mode=connect can't be used"):  # that file was read
        refuse_elsewhere()


def test_a_required_spark_setting_may_be_given_with_its_required_value() -> None:
    assert HostSettings(spark={"spark.speculation": "False"}).conf()["spark.speculation"] == "False"


@pytest.mark.parametrize(
    ("conf", "count"),
    [
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[3]"}, 3),
        ({"spark.master": "local[3,1]"}, 3),
        ({"spark.master": "local-cluster[2,2,1024]"}, 4),
        ({"spark.master": "spark://a:7077", "spark.cores.max": "40"}, 40),
        ({"spark.master": "yarn", "spark.executor.instances": "3", "spark.executor.cores": "8"}, 24),
        ({"spark.master": "local[7]", "spark.task.cpus": "2"}, 3),
        ({"spark.master": "local-cluster[2,3,1024]", "spark.task.cpus": "2"}, 2),
        ({"spark.master": "spark://a:7077", "spark.cores.max": "40", "spark.task.cpus": "2"}, 20),
    ],
)
def test_slots_are_what_spark_runs_at_a_time(conf: dict[str, str], count: int) -> None:
    assert slots(conf) == count


@pytest.mark.parametrize("given", ["two", "0", "-1"])
@pytest.mark.parametrize("key", ["spark.task.cpus", "spark.executor.cores"])
def test_a_number_of_cores_that_is_none_is_refused(key: str, given: str) -> None:
    cluster = {"spark.master": "yarn", "spark.executor.instances": "2"}
    with pytest.raises(ConfigError, match=rf"Invalid value {given} for configuration {key}"):
        HostSettings(spark={**cluster, key: given}).conf()


def test_on_a_cluster_the_number_of_slots_must_be_said() -> None:
    with pytest.raises(ConfigError, match=r"spark.cores.max is required with spark.master=spark://a:7077"):
        HostSettings(spark={"spark.master": "spark://a:7077"}).conf()


def test_queries_can_not_take_all_slots() -> None:
    with pytest.raises(ConfigError, match=r"penstock.query.slots=2 leaves nothing for hosted tasks: Spark has 2 slots"):
        HostSettings.of({"spark.master": "local[2]", "penstock.query.slots": "2"}).conf()


def test_queries_have_settings_of_their_own_before_those_of_all() -> None:
    properties = {
        "spark.app.name": "connect",
        "spark.driver.memory": "300m",
        "spark.jars": "a.jar",
        "spark.task.maxFailures": "1",
        "penstock.query.spark.driver.memory": "8g",
        "penstock.query.spark.speculation": "true",
    }
    settings = HostSettings.of(properties)
    hosted, queries = settings.conf(), settings.query_conf()
    assert [conf["spark.app.name"] for conf in (hosted, queries)] == ["connect", "connect-queries"]
    assert [conf["spark.driver.memory"] for conf in (hosted, queries)] == ["300m", "8g"]
    assert [conf["spark.jars"] for conf in (hosted, queries)] == ["a.jar", "a.jar"]
    assert [conf["spark.speculation"] for conf in (hosted, queries)] == ["false", "true"]
    assert [conf["spark.master"] for conf in (hosted, queries)] == ["local[512]", "local[512,4]"]
    assert [conf.get("spark.python.worker.reuse") for conf in (hosted, queries)] == ["false", None]
    assert not [key for key in (*hosted, *queries) if not key.startswith("spark.")]


@pytest.mark.parametrize(
    ("given", "master"),
    [
        ({"spark.master": "local[3]"}, "local[3,4]"),
        ({"spark.master": "local"}, "local[1,4]"),
        ({"spark.master": "local[*, 2]"}, "local[*, 2]"),
        ({"penstock.query.spark.master": "local[2]", "penstock.query.spark.task.maxFailures": "7"}, "local[2,7]"),
        ({"penstock.query.spark.master": "spark://a:1", "penstock.query.spark.cores.max": "3"}, "spark://a:1"),
    ],
)
def test_queries_have_sparks_retries(given: dict[str, str], master: str) -> None:
    assert HostSettings.of(given).query_conf()["spark.master"] == master


@pytest.mark.parametrize(
    ("given", "hosted", "queries"),
    [
        ({"spark.master": "spark://a:7077", "spark.cores.max": "40"}, 30, 10),
        ({"spark.master": "spark://a:7077", "spark.cores.max": "80", "spark.task.cpus": "2"}, 30, 10),
        ({"spark.master": "yarn", "spark.executor.instances": "5", "spark.executor.cores": "8"}, 24, 8),
        ({"spark.master": "local[16]"}, 6, 16),
    ],
)
def test_the_slots_of_a_cluster_are_divided(given: dict[str, str], hosted: int, queries: int) -> None:
    settings = HostSettings.of({**given, "penstock.query.slots": "10"})
    assert settings.hosted_slots(settings.conf()) == hosted
    assert slots(settings.query_conf()) == queries


def test_the_daemon_of_queries_is_penstocks_too() -> None:
    settings = HostSettings.of({"penstock.query.spark.python.daemon.module": "mine"})
    with pytest.raises(ConfigError, match=r"^penstock.query.spark.python.daemon.module=mine can't be used, because "):
        settings.query_conf()


@pytest.mark.parametrize("value", ["", "soon", "-1", "10"])
def test_a_lease_must_be_a_number_of_some_size(value: str) -> None:
    with pytest.raises(ConfigError, match=r"penstock.task.lease.ms: must be a whole number, 1000 or more"):
        HostSettings.of({"penstock.task.lease.ms": value})


@pytest.mark.parametrize(
    ("given", "lease"),
    [
        ({}, 10.0),  # standalone: there is no group
        ({"group.id": "g"}, 7.0),
        ({"group.id": "g", "session.timeout.ms": "45000"}, 10.0),
        ({"group.id": "g", "session.timeout.ms": "6000", "heartbeat.interval.ms": "1500"}, 4.5),
        ({"group.id": "g", "session.timeout.ms": "3000"}, 1.0),
    ],
)
def test_a_lease_ends_before_a_session_does(given: dict[str, str], lease: float) -> None:
    assert HostSettings.of(given).lease == lease


def test_a_lease_that_is_too_long_is_named(caplog: pytest.LogCaptureFixture) -> None:
    assert HostSettings.of({"group.id": "g", "penstock.task.lease.ms": "8000"}).lease == 8.0
    assert "With `penstock.task.lease.ms=8000` the tasks of a worker that hangs may still run" in caplog.text
    assert "use 7000 or less" in caplog.text


def test_spark_authenticates_and_encrypts_by_default() -> None:
    for master in ("local[4]", "yarn", "k8s://h:1"):
        given = {"spark.master": master, "spark.executor.instances": "2", "spark.cores.max": "2"}
        for conf in (HostSettings(spark=given).conf(), HostSettings(spark=given).query_conf()):
            keys = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")
            assert [conf[key] for key in keys] == ["true"] * 3
        off = HostSettings(spark={**given, "spark.authenticate": "false"}).conf()
        assert "spark.network.crypto.enabled" not in off
    cluster = {"spark.master": "spark://h:7077", "spark.cores.max": "2"}
    assert "spark.authenticate" not in HostSettings(spark=cluster).conf()
    assert HostSettings(spark={**cluster, "spark.authenticate.secret": "s"}).conf()["spark.authenticate"] == "true"


@pytest.mark.integration
@pytest.mark.slow
def test_secrets_are_on_no_command_line() -> None:
    """Everybody on a machine reads the command lines of all processes. Java has the settings nevertheless."""
    code = (
        "import os, pathlib\n"
        "from penstock.spark.java import spark_java\n"
        "os.environ['JAVA_HOME'] = str(spark_java().home)\n"
        "from penstock.spark.settings import HostSettings, start\n"
        "one, two = ('-'.join(['canary', each]) for each in '12')  # this text is on a command line itself\n"
        "secret = {'spark.hadoop.fs.s3a.secret.key': one, 'spark.jdbc.password': two}\n"
        "context = start(HostSettings(spark={'spark.master': 'local[2]', **secret}).conf())\n"
        "lines = [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')]\n"
        "assert any(b'SparkSubmit' in line for line in lines)\n"
        "assert not [line for line in lines if one.encode() in line]\n"
        "assert not [line for line in lines if two.encode() in line]\n"
        "assert context._jsc.hadoopConfiguration().get('fs.s3a.secret.key') == one\n"
        "redacts = context._jvm.java.util.regex.Pattern.compile(context.getConf().get('spark.redaction.regex'))\n"
        "assert redacts.matcher('spark.jdbc.password').find() and not redacts.matcher('spark.master').find()\n"
        "assert context._jsc.sc().env().securityManager().isAuthenticationEnabled()\n"
        "context.stop()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.security
def test_java_of_queries_fetches_no_dtd_whatever_options_it_is_given() -> None:
    keys = ("spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions")
    given = dict.fromkeys(keys, "-Xss1m")
    for settings in (
        HostSettings(),
        HostSettings(spark=given),
        HostSettings(query_spark=given),
        HostSettings(query_spark=given, query_slots=5),
    ):
        conf = settings.query_conf()
        for key in keys:
            assert conf[key].split().count("-Djavax.xml.accessExternalDTD=") == 1
            assert settings in (HostSettings(),) or "-Xss1m" in conf[key].split()
            assert conf[key].split().count("-Duser.timezone=UTC") == 1


def test_java_of_queries_has_another_zone_only_on_request() -> None:
    key = "spark.executor.defaultJavaOptions"
    assert "user.timezone" not in HostSettings().conf()[key]
    conf = HostSettings(spark={key: "-Duser.timezone=Asia/Tokyo"}).query_conf()
    assert conf[key].split()[0] == "-Duser.timezone=Asia/Tokyo"
    assert conf[key].count("user.timezone") == 1
