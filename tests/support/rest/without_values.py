"""A cluster with a connector that validates its own configuration and leaves out the values, as Java allows."""

from __future__ import annotations

from pathlib import Path

from penstock.plugins import Plugins
from support.rest.cluster import RestCluster

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


def cluster_class(folder: Path, module: str) -> type[RestCluster]:
    """Return the class of a cluster whose plugins are those in ``folder``, with the connector ``module.WithoutValues``.

    ``module``: a name that no other test uses, because a process loads a plugin's module from one place only.
    """
    (folder / f"{module}.py").write_text(PLUGIN)

    class WithThePlugin(RestCluster):
        plugins = Plugins.discover([str(folder)])

    return WithThePlugin
