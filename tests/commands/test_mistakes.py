"""Messages of `penstock run` about a wrong configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.api.config import ConfigDef
from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Catalog, Kind, PluginClass
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.plugins import Plugins
from penstock.trial.log import WorkerLog
from penstock.trial.put import in_short
from penstock.worker.connector_file import read_connector


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    mine = PluginClass("my_numbers.MyNumbers", (Kind.SOURCE,), "1", ConfigDef)
    return Catalog([mine, *Plugins.discover([]).catalog.of_kind(*Kind)])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("my_numbers.MyNumber", " Did you mean 'my_numbers.MyNumbers'?"),
        ("my_number.MyNumbers", " Did you mean 'my_numbers.MyNumbers'?"),
        ("FileStreamSourc", " Did you mean 'org.apache.kafka.connect.file.FileStreamSourceConnector'?"),
        ("com.example.Quite", " A plugin that can't be loaded is named above, with the reason."),
    ],
)
def test_a_connector_that_is_not_there(catalog: Catalog, name: str, meant: str) -> None:
    with pytest.raises(Exception, match="Failed to find any class") as error:
        catalog.connector(name)
    said = in_short(str(error.value), {CONNECTOR_CLASS: name})
    assert said == f"There is no connector `{name}`, which connector.class names.{meant}"


def test_a_configuration_without_a_class() -> None:
    message = "Connector config {conector.class=a.B} contains no connector type"
    assert in_short(message, {"conector.class": "a.B"}) == (
        "connector.class is missing; is it meant by `conector.class`?"
    )
    assert in_short(message, {"topic": "t"}) == "connector.class is missing."


def test_the_path_of_validation_is_left_out() -> None:
    errors = "Connector configuration is invalid and contains the following 1 error(s):\nClass A could not be found."
    endpoint = "`/connector-plugins/{connectorType}/config/validate`"
    message = f"{errors}\nYou can also find the above list of errors at the endpoint {endpoint}"
    assert in_short(message, {}) == errors


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "is empty; expected a JSON object"), ("[]", "expected a JSON object"), ("{,}", "is not valid JSON: ")],
)
def test_a_file_that_is_no_configuration(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=said) as error:
        read_connector(file, "config")
    assert str(file) in str(error.value)


def test_a_failure_is_left_to_the_status_and_a_retry_is_shown_once(tmp_path: Path) -> None:
    def line(message: str, logger: str) -> str:
        return json.dumps({"level": "ERROR", "message": message, "logger": logger}) + "\n"

    retried = "The tasks of connector c could not be configured; retrying in {} ms: TypeError: no"
    path = tmp_path / "worker.log"
    path.write_text(
        line("Task c-0 has failed", "penstock.spark.run.reports")
        + line("Exception in ASGI application", "uvicorn.error")
        + "".join(line(retried.format(ms), "penstock.worker.loop") for ms in (250, 500))
        + line("Task c-0 has failed", "my_plugin")
    )
    assert list(WorkerLog(path).news()) == [
        "ERROR The tasks of connector c could not be configured; TypeError: no (penstock.worker.loop)",
        "ERROR Task c-0 has failed (my_plugin)",
    ]
