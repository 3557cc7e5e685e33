"""Checks on the worker: a configuration is validated and allowed first, then a process of its own contacts what it
names, with the credentials in it. The worker that gets the request does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.secrets import restored
from penstock.core.model.local_requests import CheckConfig, CheckConnector
from penstock.core.model.messages import Refused
from penstock.preview.messages import CheckAnswer, CheckRequest
from penstock.worker.configuration.configurations import Configurations


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChecks:
    """``config`` is the worker's. ``known`` gives the configuration of a connector; ``run`` blocks."""

    config: Mapping[str, str]
    known: Callable[[str], Mapping[str, str] | None]
    configurations: Configurations
    internal_topics: Callable[[], InternalTopics]
    run: Callable[[CheckRequest], CheckAnswer]

    def answer(self, request: CheckConfig | CheckConnector) -> dict[str, Any]:
        """Return the body of the reply. Raises Refused for a connector that there is not, or if no check can run now;
        every other problem is a failed step.
        """
        config = self._wanted(request)
        steps = self._steps(config, request.seconds)
        counts = [step["outcome"] for step in steps]
        outcome = "failed" if "failed" in counts else "ok"
        return {"connector": request.name, "outcome": outcome, "steps": steps}

    def _wanted(self, request: CheckConfig | CheckConnector) -> dict[str, str]:
        known = self.known(request.name)
        given: Mapping[str, str | None] = {}
        if isinstance(request, CheckConnector) or request.patch:
            if known is None:
                raise Refused(404, f"Connector {request.name} not found")
            given = dict(known)
        if isinstance(request, CheckConfig):
            given = {**given, **request.config}
        wanted = restored(given, {} if known is None else dict(known))
        return {name: value for name, value in {**wanted, "name": request.name}.items() if value is not None}

    def _steps(self, config: dict[str, str], seconds: int) -> list[dict[str, str]]:
        configurations = self.configurations
        try:
            problems = configurations.validate(config).message
            if problems is not None:
                return [_step("failed", problems)]
            resolved = configurations.resolve(config)
            configurations.check(resolved)
            configurations.check_overrides(resolved)
        except (ConnectError, ConfigError) as error:
            return [_step("failed", configurations.redaction.clean(str(error)))]
        request = CheckRequest(
            connector=resolved,
            worker=dict(self.config),
            internal_topics=self.internal_topics(),
            plugin_path=list(configurations.settings.plugin_path),
            seconds=seconds,
        )
        return [_step("ok", "The configuration is valid"), *self.run(request).steps]


def _step(outcome: str, message: str) -> dict[str, str]:
    return {"part": "connector", "step": "configuration", "outcome": outcome, "message": message}
