"""Changes after which a cluster has the connectors that files describe, and no others if it is pruned."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.bulk.selection import Selector
from penstock.core.config.connector import LABELS
from penstock.core.config.secrets import masked
from penstock.declarative.resources import Resource
from penstock.settings.providers import references

Config = Mapping[str, str | None]
APPLIED = (f"{LABELS}managed-by", "penstock-apply")
"""The label of connectors that ``apply`` has created: it deletes only those that have it."""


class PlannedChange(enum.Enum):
    CREATE = "create"
    UPDATE = "update"
    STATE = "state"
    """Only its target state differs."""
    DELETE = "delete"
    NONE = "unchanged"


@dataclass(slots=True)
class PlanStep:
    """One connector: what is there, what is wanted, and what the worker says of it."""

    name: str
    change: PlannedChange
    present: Config | None = None
    wanted: Config | None = None
    resource: Resource | None = None
    state: str | None = None
    """The target state to set; None to leave it."""
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def differences(self) -> list[tuple[str, str | None, str | None]]:
        """Key, present value, wanted value of each setting that differs; by key. Secrets are masked, for they would be
        in the log of a pipeline; references to config providers are not.
        """
        present, wanted = self.present or {}, self.wanted or {}
        keys = [key for key in sorted(present.keys() | wanted.keys()) if _differs(key, present, wanted)]
        shown = [_shown({key: config[key] for key in keys if key in config}) for config in (present, wanted)]
        return [(key, shown[0].get(key), shown[1].get(key)) for key in keys]

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"connector": self.name, "change": self.change.value}
        if self.change is not PlannedChange.DELETE:
            document["settings"] = [{"key": k, "present": p, "wanted": w} for k, p, w in self.differences()]
        if self.state is not None:
            document["state"] = self.state
        return {**document, "errors": self.errors, "warnings": self.warnings}


def plan(
    resources: Iterable[Resource],
    present: Mapping[str, Mapping[str, Any]],
    selector: Selector | None = None,
    prune: bool = False,
) -> Iterator[PlanStep]:
    """A step for each connector, deletions last. ``present``: connectors with their ``info`` and, unless
    they have just been created, ``status``.

    ``selector`` leaves out what it does not match, of the files and of the cluster: a connector whose file it does not
    match is described nevertheless, and stays. ``prune``: delete what an earlier plan has created and no file
    describes.
    """
    described = {each.name: each for each in resources}
    deleted = []
    for name, resource in described.items():
        if resource.ignored or not (selector is None or selector.matches(resource.wanted.config)):
            continue
        if not resource.deleted:
            yield _step(resource, present.get(name))
        elif name in present:
            deleted.append(PlanStep(name, PlannedChange.DELETE, present[name]["info"]["config"], resource=resource))
    yield from deleted
    if prune:
        for name, shown in sorted(present.items()):
            config = shown["info"]["config"]
            if config.get(APPLIED[0]) != APPLIED[1]:
                continue
            if name not in described and (selector is None or selector.matches(config)):
                yield PlanStep(name, PlannedChange.DELETE, config)


def _step(resource: Resource, shown: Mapping[str, Any] | None) -> PlanStep:
    config = resource.wanted.config
    if shown is None or shown["info"]["config"].get(APPLIED[0]) == APPLIED[1]:
        config = {**config, APPLIED[0]: config.get(APPLIED[0], APPLIED[1])}
    if shown is None:
        return PlanStep(
            resource.name,
            PlannedChange.CREATE,
            None,
            config,
            resource,
            resource.state,
            warnings=list(resource.warnings),
        )
    present: Config = shown["info"]["config"]
    known = shown["status"]["connector"]["state"] if "status" in shown else "RUNNING"
    target = known if known in ("PAUSED", "STOPPED") else "STARTED"
    state = resource.state if resource.state not in (None, target) else None
    change = PlannedChange.UPDATE if present != config else PlannedChange.NONE if state is None else PlannedChange.STATE
    return PlanStep(resource.name, change, present, config, resource, state, warnings=list(resource.warnings))


def _differs(key: str, present: Config, wanted: Config) -> bool:
    return (key in present) != (key in wanted) or present.get(key) != wanted.get(key)


def _shown(config: Config) -> dict[str, str | None]:
    masks = masked(config)
    return {key: value if _is_reference(value) else masks[key] for key, value in config.items()}


def _is_reference(value: str | None) -> bool:
    return value is not None and [each.text for each in references(value)] == [value]
