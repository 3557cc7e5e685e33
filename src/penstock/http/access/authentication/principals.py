"""The principal of a request: who asks, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Principal:
    """A user, or a service. ``name`` is None if nobody was authenticated."""

    name: str | None = None
    groups: frozenset[str] = frozenset()
    how: str = "none"
    """``basic``, ``token``, ``certificate`` or ``none``."""
    address: str = ""
    via: str = field(default="", compare=False)
    """The worker that has forwarded the request, by its own account unless ``how`` is ``certificate``; empty for
    none."""
    tried: str | None = field(default=None, compare=False)
    """The user name that was given with a wrong password."""


ANYBODY = Principal()


def principal_of(request: Request) -> Principal:
    """Return the principal that the guard has found; nobody at the request's address for a path without a guard."""
    found = request.scope.get("state", {}).get("principal")
    return found if isinstance(found, Principal) else Principal(address=address_of(request))


def forwarded_to(request: Request) -> str | None:
    """Return the URL of the worker to which a request was forwarded; None if it was not."""
    found = request.scope.get("state", {}).get("forwarded_to")
    return found if isinstance(found, str) else None


def client_of(request: Request) -> str:
    """Return the name by which limits for each client know this one: its user's, or without one its address."""
    principal = principal_of(request)
    return f"The user {principal.name}" if principal.name else f"The client at {address_of(request)}"


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""
