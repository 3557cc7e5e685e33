"""What all requests have in common."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """Base of all requests."""

    principal: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    """Who asks; None if the REST interface authenticates nobody."""
