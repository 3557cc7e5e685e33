"""Findings of the doctor: one for each setting, plugin and connector."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class Verdict(enum.Enum):
    WORKS = "works"
    UNCHECKED = "not checked"
    DIFFERS = "works differently"
    NEEDS_JAR = "needs a jar here"
    REFUSED = "refused"

    @property
    def blocks(self) -> bool:
        return self in (Verdict.NEEDS_JAR, Verdict.REFUSED)


_ORDER = list(Verdict)
NOT_RESOLVED = "a reference to a config provider, which is not resolved here"


@dataclass(frozen=True, slots=True)
class Finding:
    verdict: Verdict
    subject: str
    """A setting or a class."""
    says: str = ""
    """The difference, or the alternative."""

    def to_json(self) -> dict[str, str]:
        return {"verdict": self.verdict.value, "subject": self.subject, "says": self.says}


@dataclass(frozen=True, slots=True)
class Section:
    """The findings about one thing: the worker, a connector, the plugins of a cluster."""

    title: str
    findings: tuple[Finding, ...]
    facts: tuple[str, ...] = ()
    """Facts without a judgement: offsets, topics."""

    @property
    def verdict(self) -> Verdict:
        """The worst."""
        return max((each.verdict for each in self.findings), key=_ORDER.index, default=Verdict.WORKS)

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "verdict": self.verdict.value,
            "findings": [each.to_json() for each in self.findings],
            "facts": list(self.facts),
        }


@dataclass(slots=True)
class DoctorReport:
    sections: list[Section] = field(default_factory=list)

    @property
    def unchecked(self) -> list[str]:
        """The titles of what was not checked, or not all of it."""
        return [each.title for each in self.sections if any(f.verdict is Verdict.UNCHECKED for f in each.findings)]

    @property
    def blocks(self) -> bool:
        """Whether something would not run here as it is."""
        return any(each.verdict.blocks for each in self.sections)
