"""Clients' requests: answered from state at once or by a flow, with one reply for every error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConfigError
from penstock.core.group.leadership import ElsewhereError
from penstock.core.group.membership import Membership
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until
from penstock.core.model.output import Output
from penstock.core.requests.reads import Reads

Handlers = Mapping[type[m.Request], Callable[[Any], Flow]]

LONGEST_NAME = 500
"""Characters of a name in the log."""


@dataclass(slots=True)
class Requests:
    output: Output
    membership: Membership
    reads: Reads
    handlers: Handlers
    """The flow that answers, for each type of request that is no ``ReadRequest``."""
    timeout_ms: int
    """How long a request waits for the internal topics to be read at the worker's start."""

    def answer(self, number: int, request: m.Request) -> None:
        """Answer a request now, or begin the flow that will. Every request is answered exactly once."""

        def done(reply: m.Reply | None, error: BaseException | None) -> None:
            self.output.emit(actions.Answer(number, self._reply(request, reply, error)))

        self.output.start(self._answered(request), done)

    def _reply(self, request: m.Request, reply: m.Reply | None, error: BaseException | None) -> m.Reply | m.Elsewhere:
        match error:
            case None:
                return reply or m.Reply(204)
            case m.Refused():
                return error.reply()
            case ElsewhereError(url=url):
                return m.Elsewhere(url)
            case ConfigError():  # a reference to a config provider that can't be resolved, say
                return m.Refused(400, str(error)).reply()
            case TimeoutError():
                return m.Refused(500, f"Request timed out. {error}".rstrip()).reply()
            case _:
                self.output.log("ERROR", f"A request ended in an error: {_described(request)}: {error!r}")
                return m.Refused(500, str(error) or repr(error)).reply()

    def _answered(self, request: m.Request) -> Flow:
        """Once the internal topics have been read: before, connectors seem not to exist."""
        if not isinstance(request, m.GetHealth):
            what = "The worker is reading its internal topics."
            yield Until(lambda: self.membership.has_read, self.timeout_ms, what)
        if isinstance(request, m.ReadRequest):
            return self.reads.answer(request)
        return (yield from self.handlers[type(request)](request))


def _described(request: m.Request) -> str:
    """Without what it holds, such as a configuration with passwords; its name may be what is too large to be stored."""
    name = getattr(request, "name", None)
    return type(request).__name__ if name is None else f"{type(request).__name__} of {name[:LONGEST_NAME]}"
