"""The files of ``deploy`` are well-formed, and what they name is there. They are not run."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import yaml

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
