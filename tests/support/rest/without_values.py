"""A cluster with a connector that validates its own configuration and leaves out the values, as Java allows."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.plugins import Plugins
from support.rest.cluster import RestCluster

CLASS = "without_values.WithoutValues"
PLUGIN = """
from penstock.api import ConfigDef, ConfigType, SourceConnector, SourceTask


class Task(SourceTask):
    def start(self, config): ...
    def poll(self): ...


class WithoutValues(SourceConnector):
    @classmethod
    def config_def(cls):
        return ConfigDef().define("place", ConfigType.STRING, None)

    def task_class(self):
        return Task

    def task_configs(self, max_tasks):
        return [{}]

    def validate(self, config):
        return []
"""


def cluster_class(folder: Path) -> type[RestCluster]:
    """Return the class of a cluster whose plugins are those in ``folder``, where the connector is written."""
    # A process imports a module of this name once: another test's, whose folder may be gone, is forgotten.
    sys.modules.pop("without_values", None)
    (folder / "without_values.py").write_text(PLUGIN)

    class WithThePlugin(RestCluster):
        plugins = Plugins.discover([str(folder)])

    return WithThePlugin
