"""What validation must know of the worker that a connector is to run on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.config.overrides import ALL, OverridePolicy
from penstock.core.config.sink import Compile


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """``group_id`` is None in standalone mode, where exactly once and groups of sinks are not checked.

    ``converters`` has the worker's settings of ``key.converter``, ``value.converter``, ``header.converter`` and their
    ``.plugin.version``.
    """

    group_id: str | None = None
    exactly_once: bool = False
    converters: Mapping[str, str | None] = field(default_factory=dict)
    policy: OverridePolicy = ALL
    compile: Compile = re.compile
