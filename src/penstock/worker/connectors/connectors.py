"""The connectors that run on this worker, each on a thread of its own.

A connector is user code that may block, raise or never return, so nothing here waits for it: commands are put in its
queue, and their outcomes are delivered as events. A call that takes long is reported with its stack. A run that does
not stop in time is abandoned and reported as ended; if its plugin has an environment of its own, its process ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from penstock.core.model.events import Completed
from penstock.hosts.jvm.plugins.connector import JavaConnector, answers
from penstock.hosts.python.connector import EnvironmentConnector
from penstock.worker.connectors.run import ConnectorSetup, ConnectorThread, Deliver

log = logging.getLogger(__name__)

METRICS_S = 1.0
"""Seconds for all JVMs together to report the metrics of their connectors."""
LOOK_S = 1.0
"""Seconds between two checks of the calls under way."""


class Connectors:
    """All runs on this worker. Methods are called by the worker's loop and return at once."""

    def __init__(self, setup: ConnectorSetup, deliver: Deliver, stop_timeout: float) -> None:
        self._setup, self._deliver, self._stop_timeout = setup, deliver, stop_timeout
        self._runs: dict[int, ConnectorThread] = {}
        threading.Thread(target=self._look, name="connectors-watch", daemon=True).start()

    def start(self, name: str, number: int, config: Mapping[str, str], target: str) -> None:
        run = self._runs[number] = ConnectorThread(name, number, config, self._setup, self._deliver)
        run.commands.put(lambda: run.turn(target))
        threading.Thread(target=run.work, name=f"connector-{name}", daemon=True).start()

    def change_state(self, number: int, target: str) -> None:
        if run := self._runs.get(number):
            run.commands.put(lambda: run.turn(target))

    def make_task_configs(self, token: int, number: int, max_tasks: int) -> None:
        if run := self._runs.get(number):
            run.commands.put(lambda: run.task_configs(token, max_tasks))
        else:
            self._deliver(Completed(token))

    def plugin_metrics(self) -> list[dict[str, Any]]:
        """Return the plugin metrics of all connectors. Any thread may call this. Plugins' code should answer at once.
        What JVMs have not answered after a moment is left out.
        """
        runs = list(self._runs.values())
        asked = [run.connector.ask_metrics() for run in runs if isinstance(run.connector, JavaConnector)]
        own = [metric for run in runs for metric in run.metrics.read()]
        return own + answers(asked, METRICS_S)

    def stop(self, number: int) -> None:
        run = self._runs.pop(number, None)
        if run is None:
            return
        run.commands.put(lambda: False)
        give_up = threading.Timer(self._stop_timeout, self._give_up, (run,))
        give_up.daemon = True
        give_up.start()

    @staticmethod
    def _give_up(run: ConnectorThread) -> None:
        if not run.ended:
            log.error("Connector %s did not stop in time; its thread is abandoned%s", run.name, run.calls.where())
            run.report_end()
            if isinstance(run.connector, EnvironmentConnector):
                run.connector.give_up()

    def _look(self) -> None:
        while True:
            time.sleep(LOOK_S)
            for run in list(self._runs.values()):
                run.calls.look()
