"""The worker's own JVM, for everything of Java plugins that is not a task: connectors, validation, config providers.

It is started with the first jar that needs it, and lives as long as the worker. A plugin that hangs keeps its session;
the next one gets another JVM then. One that ends the JVM is started again with a new one, and so are its neighbours.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.api.errors import ConnectError, KafkaError
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.errors import BadRequestError
from penstock.hosts.jvm.levels import follow, unfollow
from penstock.hosts.jvm.process import JvmSpec, JvmStartError, open_session
from penstock.hosts.jvm.session import Callback, Session

CALL_SECONDS = 100.0
"""How long one call outside of a connector's life may take: somewhat longer than a REST request."""


class ControlJvm:
    """Makes sessions with it. Any thread may use it."""

    def __init__(self, spec: Callable[[], JvmSpec]) -> None:
        """``spec`` is asked when a JVM is needed first; it may fetch and compile."""
        self._make_spec = spec
        self._spec: JvmSpec | None = None
        self._lock = threading.Lock()
        self._keeper: Session | None = None
        self._closed = False

    def open(self, name: str, thread: str, callbacks: Mapping[str, Callback] | None = None) -> Session:
        """A new session. Raises ConnectError if no JVM can be had."""
        try:
            with self._lock:
                if self._spec is None:
                    self._spec = self._make_spec()
                spec = self._spec
            session = open_session(spec, {"name": name, "thread": thread}, callbacks)
            self._keep(spec, session)
        except (JvmStartError, HostLost) as error:
            raise ConnectError(str(error)) from error
        return session

    def _keep(self, spec: JvmSpec, session: Session) -> None:
        """Hold a session of our own with the JVM that takes sessions now, so that it does not end in between."""
        with self._lock:
            kept = self._keeper
            if self._closed or (kept is not None and kept.pid == session.pid):
                return
            self._keeper = keeper = open_session(spec, {"name": "worker", "thread": "worker"})
        if kept is not None:
            unfollow(kept)
            close_later(kept)
        follow(keeper)

    def close(self) -> None:
        """Lets go of the JVM, which ends soon after its last session."""
        with self._lock:
            self._closed, kept, self._keeper = True, self._keeper, None
        if kept is not None:
            unfollow(kept)
            kept.close()

    @contextlib.contextmanager
    def connector(self, plugin: Mapping[str, Any]) -> Iterator[Session]:
        """A session with a new connector of this plugin, for some calls.

        One that can't be made is a BadRequestError, a JVM that ends a ConnectError.
        """
        session = self.open(plugin["class"], f"connector-{plugin['class'].rpartition('.')[2]}")
        try:
            try:
                session.call("connector.create", plugin, timeout=CALL_SECONDS)
            except KafkaError as error:
                raise BadRequestError(str(error)) from error
            yield session
        except HostLost as lost:
            raise ConnectError(f"{plugin['class']} has ended its JVM: {lost}") from lost
        finally:
            close_later(session)


def close_later(session: Session) -> None:
    """Close a session without waiting for the plugin's threads."""
    threading.Thread(target=session.close, name="close-session", daemon=True).start()
