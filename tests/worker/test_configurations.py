"""Configurations of connectors on a worker."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

import pytest

from penstock.api.config import ConfigDef, ConfigType, ConfigValue
from penstock.api.connector import SinkConnector
from penstock.core.config.catalog import Kind, PluginClass
from penstock.core.config.validation import WorkerRules
from penstock.core.model.messages import PluginFailed
from penstock.plugins import Plugins
from penstock.settings import WorkerSettings
from penstock.settings.providers import ConfigTransformer
from penstock.settings.redaction import Redaction
from penstock.worker.configuration.configurations import Configurations
from penstock.worker.configuration.permissions import WorkerPermissions

WORKER = {
    "bootstrap.servers": "h:1",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}
DEFINED = ConfigDef().define("licence", ConfigType.PASSWORD)


class Telling(SinkConnector):
    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        raise ValueError(f"no login with {config['licence']} and {config['db.password']}")


def configurations_of(plugins: Plugins, redaction: Redaction) -> Configurations:
    settings = WorkerSettings.standalone_of(WORKER)
    permissions = WorkerPermissions.of(settings, plugins)
    return Configurations(
        settings, plugins, ConfigTransformer({}), redaction, permissions, WorkerRules(), cast(Any, None)
    )


def test_a_failing_validation_is_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    """Nor does a worker remember the secrets of a configuration that may never become a connector's."""
    redaction = Redaction()
    plugins = Plugins().plus([PluginClass("x.Telling", (Kind.SINK,), "1", lambda: DEFINED, Telling)])
    configurations = configurations_of(plugins, redaction)
    config = {"connector.class": "x.Telling", "name": "orders", "topics": "t"}
    with pytest.raises(PluginFailed), caplog.at_level(logging.ERROR):
        configurations.validate({**config, "licence": "canary-7f3a", "db.password": "canary-of-db"})
    assert "Connector orders can't be validated" in caplog.text
    assert "no login with [hidden] and [hidden]" in caplog.text
    assert "canary" not in caplog.text
    assert redaction.clean("canary-of-db") == "canary-of-db"


def test_a_name_without_measure_is_not_logged_whole_with_each_setting_without_effect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    configurations = configurations_of(Plugins(), Redaction())
    unknown = {f"unknown{number}": "x" for number in range(20)}
    config = {"connector.class": "FileStreamSource", "topic": "t", "name": "n" * 1000, **unknown}
    with caplog.at_level(logging.WARNING):
        assert configurations.accept(config) is None
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 20
    assert all(each.startswith("Connector nnn") and len(each) < 1000 for each in told)
