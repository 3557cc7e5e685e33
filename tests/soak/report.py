"""Output of the two commands: progress lines, a table at the end, and violations of the promises."""

from __future__ import annotations

import time
from dataclasses import dataclass

VIOLATIONS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    figures: dict[str, object]
    violations: list[str]
    """Descriptions of violations; an empty list means success."""


class Clock:
    """A clock that prints lines with the time since its start."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def say(self, text: str) -> None:
        minutes, seconds = divmod(int(self.seconds), 60)
        print(f"{minutes:3d}:{seconds:02d}  {text}", flush=True)


def show(title: str, outcome: Outcome) -> None:
    figures, violations = outcome.figures, outcome.violations
    width = max(map(len, figures))
    print(f"\n{title}")
    for name, value in figures.items():
        print(f"  {name:<{width}}  {f'{value:,}' if isinstance(value, int) else value}")
    print(f"  {'violations':<{width}}  {len(violations)}")
    for sentence in violations[:VIOLATIONS_SHOWN]:
        print(f"  - {sentence}")
    if len(violations) > VIOLATIONS_SHOWN:
        print(f"  - and {len(violations) - VIOLATIONS_SHOWN} more")
