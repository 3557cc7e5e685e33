"""Plugins with an environment of their own in the catalog; found again as soon as one is installed or removed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.core.config.catalog import Kind, PluginClass
from penstock.hosts.python.connector import Plugin, connector_class
from penstock.hosts.python.environment import Environment, environments, signature
from penstock.hosts.python.limits import PluginLimits
from penstock.hosts.python.questions import EnvironmentQuestions

log = logging.getLogger(__name__)


class Environments:
    """Environments of Python plugins in the folders of a ``plugin.path``. Any thread may call it."""

    def __init__(self, plugin_path: Iterable[str], worker_config: Mapping[str, str]) -> None:
        self._path = tuple(os.path.expanduser(entry) for entry in plugin_path)
        self._config = worker_config
        self._lock = threading.Lock()
        self._seen: object = None
        self._classes: tuple[PluginClass, ...] = ()
        self._questions: dict[Path, EnvironmentQuestions] = {}

    def classes(self) -> tuple[PluginClass, ...]:
        """Return the current plugin classes: the same object as long as nothing has changed."""
        seen = signature(self._path)
        if seen != self._seen:
            with self._lock:
                self._look()
                self._seen = seen
        return self._classes

    def close(self) -> None:
        """End the processes that answer questions."""
        with self._lock:
            for each in self._questions.values():
                each.close()

    def _look(self) -> None:
        found = environments(self._path)
        for each in found:
            if each.folder not in self._questions:
                log.info("Plugin %s %s is in %s, with Python %s", each.name, each.version, each.folder, each.python)
                for problem in each.left_out:
                    log.error("%s", problem)
        folders = {each.folder for each in found}
        for folder in [folder for folder in self._questions if folder not in folders]:
            log.info("The plugin in %s has been removed or replaced", folder)
            gone = self._questions.pop(folder)
            threading.Thread(target=gone.close, name="close-plugin", daemon=True).start()
        self._classes = tuple(plugin for each in found for plugin in self._classes_of(each))

    def _classes_of(self, found: Environment) -> list[PluginClass]:
        limits = PluginLimits.of({}, self._config)
        questions = self._questions.setdefault(
            found.folder, EnvironmentQuestions(found.folder, f"plugin {found.name}", limits)
        )
        classes = []
        for said in found.connectors:
            cls = connector_class(Plugin(found, said, questions, self._config))
            kinds = (Kind(said["kind"]),)
            classes.append(PluginClass(said["class"], kinds, said["version"], cls.config_def, cls, str(found.folder)))
        return classes
