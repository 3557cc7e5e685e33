"""The files of ``deploy`` are well-formed, and what they name is there. They are not run."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from penstock.api.paths import PATHS_ALLOWED
from penstock.settings import load_settings

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_worker_accepts_its_properties() -> None:
    settings = load_settings(DEPLOY / "worker.properties")
    assert (settings.bootstrap_servers, settings.plugin_path) == ("kafka:9092", ("/plugins",))


def test_the_services_name_files_that_exist() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert set(services) == {"kafka", "worker"}
    worker = services["worker"]
    assert (DEPLOY / worker["build"]["context"] / worker["build"]["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    mounted = [each.split(":")[:2] for each in worker["volumes"] if each.startswith("./")]
    assert ["./worker.properties", "/etc/penstock/worker.properties"] in mounted
    assert all((DEPLOY / source).exists() for source, _ in mounted if "." in source[2:])


def test_the_image_runs_a_worker_as_a_user_of_its_own() -> None:
    text = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    last = dict(lines)
    assert {name for name, _ in lines} <= {
        *("FROM", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD")
    }
    assert last["USER"] == "penstock"
    assert last["ENTRYPOINT"] == '["tini", "-g", "--", "penstock", "worker", "distributed"]'
    assert last["CMD"] == '["/etc/penstock/worker.properties"]'
    assert "/health" in last["HEALTHCHECK"]


def test_the_unit_is_hardened() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "penstock.service")
    service = unit["Service"]
    assert service["ExecStart"].split()[1:3] == ["worker", "distributed"]
    assert {"NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp"} <= set(service)
    assert service["RestartPreventExitStatus"] == "2"


@pytest.mark.security
def test_the_unit_s_settings_and_files_are_nobody_else_s() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "penstock.service")
    service = unit["Service"]
    name, source = service["LoadCredential"].split(":")
    assert source == "/etc/penstock/worker.properties"
    assert service["ExecStart"].split()[-1] == f"${{CREDENTIALS_DIRECTORY}}/{name}"
    assert (service["UMask"], service["StateDirectoryMode"], service["DynamicUser"]) == ("0077", "0700", "yes")
    if shutil.which("systemd-analyze"):
        done = subprocess.run(
            ["systemd-analyze", "verify", DEPLOY / "penstock.service"], capture_output=True, text=True, check=False
        )
        said = [line for line in done.stderr.splitlines() if "penstock.service" in line]
        assert [line for line in said if "is not executable" not in line] == []


@pytest.mark.security
def test_the_services_are_published_on_this_machine_alone() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    published = [port for each in services.values() for port in each.get("ports", [])]
    assert published
    assert all(str(port).startswith("127.0.0.1:") for port in published)
    worker = services["worker"]
    assert (worker["read_only"], worker["cap_drop"], worker["security_opt"]) == (
        True,
        ["ALL"],
        ["no-new-privileges:true"],
    )
    assert all(each.endswith(":ro") for each in worker["volumes"] if each.startswith("."))


@pytest.mark.security
def test_the_worker_of_the_image_has_no_provider_and_one_folder() -> None:
    config = load_settings(DEPLOY / "worker.properties").config
    assert "config.providers" not in config
    assert config[PATHS_ALLOWED] == "/data"


LOCKED = re.compile(r"^([a-z0-9._-]+)==([^ ;\\]+)[^\n]*\\\n((?: +--hash=sha256:[0-9a-f]{64}[^\n]*\n)+)", re.MULTILINE)


def locked(file: Path) -> dict[str, str]:
    """Names and versions of a lock file, each of which has hashes."""
    text = file.read_text()
    found = {canonicalize_name(name): version for name, version, _ in LOCKED.findall(text)}
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(found) == len({line.split("==")[0] for line in lines}), "each has its version and hashes"
    return found


@pytest.mark.security
def test_the_image_installs_nothing_without_a_hash() -> None:
    text = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
    commands = re.findall(r"pip install [^&\n]*", text)
    assert len(commands) == 3
    for command in commands:
        if ".whl" in command:
            assert {"--no-index", "--no-deps"} <= set(command.split())
        else:
            assert "--require-hashes" in command.split()
            [name] = re.findall(r"-r /tmp/(\S+)", command)
            assert locked(DEPLOY / name)
            assert f"deploy/{name}" in text
    assert "--no-build-isolation" in commands[1], "otherwise pip fetches pyspark's build requirements without hashes"


@pytest.mark.security
def test_the_lock_of_the_image_has_all_that_it_needs_in_the_versions_of_the_tests() -> None:
    image, whole = locked(DEPLOY / "requirements.lock"), locked(DEPLOY.parent / "requirements.lock")
    assert {name: version for name, version in image.items() if whole.get(name) != version} == {}
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    extras = ("registry", "opentelemetry", "openlineage")
    wanted = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    named = {canonicalize_name(Requirement(each).name) for each in wanted} - {"penstock"}
    assert named - image.keys() == set()
