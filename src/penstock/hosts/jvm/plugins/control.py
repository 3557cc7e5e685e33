"""The worker's own JVM, for everything of Java plugins that is not a task: connectors, validation, config providers.

The JVM is started when a jar first needs it, and lives as long as the worker. If a plugin hangs after its session has
ended, the next session gets a new JVM. If a plugin ends the JVM, the connectors in it are started again in a new one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from penstock.api.errors import ConnectError, KafkaError
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.class_data import make_when_quiet
from penstock.hosts.jvm.errors import BadRequestError
from penstock.hosts.jvm.levels import follow, unfollow
from penstock.hosts.jvm.messages.base import PluginReference
from penstock.hosts.jvm.messages.worker import CreateJavaConnector, OpenSession
from penstock.hosts.jvm.process import JvmSpec, JvmStartError, open_session
from penstock.hosts.jvm.session import Answer, JvmSession, unanswered

CALL_SECONDS = 100.0
"""Time limit of a request to a plugin other than a started connector; somewhat longer than a REST request."""


class ControlJvm:
    """Opens sessions with the worker's JVM. Any thread may use it."""

    def __init__(self, spec: Callable[[], JvmSpec]) -> None:
        """``spec`` is called when a JVM is first needed; it may fetch and compile jars."""
        self._make_spec = spec
        self._spec: JvmSpec | None = None
        self._lock = threading.Lock()
        self._keeper: JvmSession | None = None
        self._closed = False

    def open(self, name: str, thread: str, answer: Answer = unanswered) -> JvmSession:
        """Open a session. Raises ConnectError if no JVM can be started."""
        try:
            with self._lock:
                if self._spec is None:
                    self._spec = self._make_spec()
                spec = self._spec
            session = open_session(spec, OpenSession(name, thread), answer)
            self._keep(spec, session)
        except (JvmStartError, HostLost) as error:
            raise ConnectError(str(error)) from error
        return session

    def _keep(self, spec: JvmSpec, session: JvmSession) -> None:
        """Hold a session with the JVM that takes sessions now, so that it does not end between others."""
        with self._lock:
            kept = self._keeper
            if self._closed or (kept is not None and kept.pid == session.pid):
                return
            self._keeper = keeper = open_session(spec, OpenSession("worker", "worker"))
        if kept is not None:
            unfollow(kept)
            close_later(kept)
        else:
            threading.Thread(target=make_when_quiet, args=(spec,), name="class-data", daemon=True).start()
        follow(keeper)

    def close(self) -> None:
        """Release the JVM, which ends soon after its last session."""
        with self._lock:
            self._closed, kept, self._keeper = True, self._keeper, None
        if kept is not None:
            unfollow(kept)
            kept.close()

    @contextlib.contextmanager
    def connector(self, plugin: PluginReference) -> Iterator[JvmSession]:
        """Open a session with a new connector of this plugin, for some requests.

        Raises BadRequestError if the connector can't be made, ConnectError if the JVM ends.
        """
        name = plugin.java_class
        session = self.open(name, f"connector-{name.rpartition('.')[2]}")
        try:
            try:
                session.call(CreateJavaConnector(plugin), timeout=CALL_SECONDS)
            except KafkaError as error:
                raise BadRequestError(str(error)) from error
            yield session
        except HostLost as lost:
            raise ConnectError(f"{name} has ended its JVM: {lost}") from lost
        finally:
            close_later(session)


def close_later(session: JvmSession) -> None:
    """Close a session without waiting for the plugin's threads."""
    threading.Thread(target=session.close, name="close-session", daemon=True).start()
