"""Child processes get no secret by their environment or command line that they need not have."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.api.processes import ENVIRONMENT, child_environment, is_secret_option, java_options
from penstock.core.model.messages import Refused
from penstock.hosts.jvm.process import JvmSpec, JvmStartError, open_session
from penstock.hosts.jvm.session import OpenSession
from penstock.hosts.python.process import PluginProcess
from penstock.preview.messages import PreviewRequest
from penstock.preview.process import Previews
from penstock.settings.security import plugin_environment
from penstock.spark.command_line import command_line
from penstock.spark.settings import HostSettings, environment

pytestmark = pytest.mark.security
SECRETS = {
    "SHOP_DATABASE": "canary-1",
    "DB_PASSWORD": "canary-2",
    "AWS_SECRET_ACCESS_KEY": "canary-3",
    "AWS_ACCESS_KEY_ID": "canary-4",
    "AZURE_CLIENT_SECRET": "canary-5",
    "PENSTOCK_USER": "ada:canary-6",
    "SPARK_AUTH_TOKEN": "canary-7",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=canary-8",
}
NEEDED = {
    "LC_TIME": "C",
    "TZ": "UTC",
    "KRB5_CONFIG": "/etc/k",
    "AWS_REGION": "eu-1",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/t",
}
DUMP = '#!/bin/sh\nenv > {file}\nfor each in "$@"; do echo "$each" >> {file}.args; done\nexit 3\n'


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    for name, value in {**SECRETS, **NEEDED}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that writes its environment and arguments into files, and ends."""
    made = tmp_path / "bin" / "python"
    made.parent.mkdir()
    made.write_text(DUMP.format(file=tmp_path / "seen"))
    made.chmod(0o755)
    return made


def problems(program: Path) -> list[str]:
    """Return the secrets that are in the program's environment, and the variables that it needs and lacks."""
    seen = (program.parents[1] / "seen").read_text()
    needed = {**NEEDED, "PATH": os.environ["PATH"]}
    lacking = [name for name, value in needed.items() if f"{name}={value}" not in seen]
    return [*re.findall(r"canary-\d+|canary", seen), *lacking]


def test_jvms_of_plugins(program: Path, tmp_path: Path) -> None:
    options = ["-Xmx64m", "-Djavax.net.ssl.trustStorePassword=canary-9", "-Dlicence.token=canary-10"]
    with pytest.raises(JvmStartError):
        open_session(JvmSpec("secrets", program, [Path("x.jar")], options), OpenSession("x"))
    arguments = (tmp_path / "seen.args").read_text()
    assert "canary" not in arguments
    assert "-Xmx64m\n" in arguments
    assert "\n@" in arguments
    assert problems(program) == []


def test_plugins_with_another_interpreter(program: Path, tmp_path: Path) -> None:
    with contextlib.suppress(ConnectError):
        process = PluginProcess(tmp_path, "x")
        process.wait_end()
        process.close()
    assert problems(program) == []


def test_previews(program: Path) -> None:
    with pytest.raises(Refused):
        Previews(command=(str(program),)).run(PreviewRequest(connector={}, worker={}))
    assert problems(program) == []


def test_spark_and_its_tasks(program: Path) -> None:
    conf = HostSettings().conf()
    subprocess.run([program], env=environment(conf), check=False)
    assert problems(program) == []


def test_operators_pass_on_more(monkeypatch: pytest.MonkeyPatch) -> None:
    login = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    for config, allowed, wanted in (
        ({}, [], set()),
        ({}, ["SHOP_*", "DB_PASSWORD"], {"SHOP_DATABASE", "DB_PASSWORD"}),
        ({"consumer.sasl.client.callback.handler.class": login}, [], {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}),
    ):
        monkeypatch.setenv(ENVIRONMENT, plugin_environment(config, allowed))
        assert SECRETS.keys() & child_environment().keys() == wanted
        assert HostSettings().conf().get(f"spark.executorEnv.{ENVIRONMENT}", "") == os.environ[ENVIRONMENT]


def test_options_with_secrets_are_in_a_file_of_this_user(tmp_path: Path) -> None:
    file = tmp_path / "options"
    secret = '-Dstore.password=a "b" \\ c'
    assert java_options(["-Xmx1m", "-Da=b"], file) == ["-Xmx1m", "-Da=b"]
    assert not file.exists()
    assert java_options(["-Xmx1m", secret], file) == ["-Xmx1m", f"@{file}"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == '"-Dstore.password=a \\"b\\" \\\\ c"\n'
    assert is_secret_option("-Durl=https://me:pass@host/x")
    assert not is_secret_option("-Djava.security.krb5.conf=/etc/krb5.conf")


def test_values_with_secrets_are_not_on_sparks_command_line() -> None:
    conf = {
        "spark.master": "local[2]",
        "spark.jars.repositories": "https://me:canary-11@repo/maven",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:mysql://h/db?user=me&password=canary-12",
        "spark.driver.extraJavaOptions": "-Xss1m -Djavax.net.ssl.keyStorePassword=canary-13",
        "spark.hadoop.fs.s3a.secret.key": "canary-14",
    }
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    with command_line(conf) as public:
        assert "canary" not in str(public)
        assert public["spark.master"] == "local[2]"
        plain, file = shlex.split(public["spark.driver.extraJavaOptions"])
        assert (plain, Path(file[1:]).read_text()) == ("-Xss1m", '"-Djavax.net.ssl.keyStorePassword=canary-13"\n')
        _, properties, *_ = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
        assert "spark.jars.repositories https://me:canary-11@repo/maven\n" in Path(properties).read_text()
        assert stat.S_IMODE(Path(properties).stat().st_mode) == 0o600
    assert not Path(properties).exists()
    assert os.environ.get("PYSPARK_SUBMIT_ARGS") == before


@pytest.mark.integration
@pytest.mark.slow
def test_java_of_spark_has_settings_that_are_on_no_command_line() -> None:
    code = (
        "import os, pathlib\n"
        "from penstock.spark.java import spark_java\n"
        "os.environ['JAVA_HOME'] = str(spark_java().home)\n"
        "from penstock.spark.settings import HostSettings, start\n"
        "one, two, three = ('-'.join(['canary', each]) for each in '123')  # this text is on a command line itself\n"
        "given = {'spark.master': 'local[2]', 'spark.jars.repositories': f'https://me:{one}@127.0.0.1:1/x',\n"
        "         'spark.hadoop.javax.jdo.option.ConnectionURL': f'jdbc:x://h/db?password={two}',\n"
        "         'spark.driver.extraJavaOptions': f'-Dof.test=yes -Dstore.password={three}'}\n"
        "context = start(HostSettings(spark=given).conf())\n"
        "lines = [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')]\n"
        "assert any(b'SparkSubmit' in line for line in lines)\n"
        "assert not [line for line in lines for each in (one, two, three) if each.encode() in line]\n"
        "assert context._jvm.java.lang.System.getProperty('store.password') == three\n"
        "assert context._jvm.java.lang.System.getProperty('of.test') == 'yes'\n"
        "assert two in context._jsc.hadoopConfiguration().get('javax.jdo.option.ConnectionURL')\n"
        "assert one in context.getConf().get('spark.jars.repositories')\n"
        "context.stop()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    said = [line for line in ran.stderr.splitlines() if "canary" in line]
    assert all("added as a remote repository" in line for line in said), "Spark itself says that"
