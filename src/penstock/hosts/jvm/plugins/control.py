"""The worker's own JVM, for everything of Java plugins that is not a task: connectors, validation, config providers.

The JVM is started when a jar first needs it, and lives as long as the worker. If a plugin hangs after its session has
ended, the next session gets a new JVM. If a plugin ends the JVM, the connectors in it are started again in a new one;
if several calls were under way, any of which may have ended it, they are made again one after another, so that only
the one that ends the JVM fails.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from penstock.api.errors import ConnectError, KafkaError
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.class_data import make_when_quiet
from penstock.hosts.jvm.errors import BadRequestError
from penstock.hosts.jvm.levels import follow, unfollow
from penstock.hosts.jvm.messages.base import JavaRequest, PluginReference
from penstock.hosts.jvm.messages.worker import CreateJavaConnector, OpenSession
from penstock.hosts.jvm.process import JvmSpec, JvmStartError, open_session
from penstock.hosts.jvm.session import Answer, JvmSession, unanswered

log = logging.getLogger(__name__)

R = TypeVar("R")

CALL_SECONDS = 100.0
"""Time limit of a request to a plugin other than a started connector; somewhat longer than a REST request."""

ATTEMPTS = 4
"""Maximum number of times that a call is made whose JVM ends while others are under way."""
ALONE_SECONDS = 20.0
"""Seconds that a call which is made again waits for another one of these."""


class ControlJvm:
    """Opens sessions with the worker's JVM. Any thread may use it."""

    def __init__(self, spec: Callable[[], JvmSpec]) -> None:
        """``spec`` is called when a JVM is first needed; it may fetch and compile jars."""
        self._make_spec = spec
        self._spec: JvmSpec | None = None
        self._lock = threading.Lock()
        self._keeper: JvmSession | None = None
        self._closed = False
        self._suspects: dict[int, set[JvmSession]] = {}
        """By the process id of the JVM, the sessions with calls under way, now or when it ended."""
        self._suspecting, self._retrying = threading.Lock(), threading.Lock()

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
            self._forget_suspects(keeper.pid, None if kept is None else kept.pid)
        if kept is not None:
            unfollow(kept)
            close_later(kept)
        else:
            threading.Thread(target=make_when_quiet, args=(spec,), name="class-data", daemon=True).start()
        follow(keeper)

    def _forget_suspects(self, *but_of: int | None) -> None:
        with self._suspecting:
            for ended in [pid for pid in self._suspects if pid not in but_of]:
                del self._suspects[ended]

    def close(self) -> None:
        """Release the JVM, which ends soon after its last session."""
        with self._lock:
            self._closed, kept, self._keeper = True, self._keeper, None
        if kept is not None:
            unfollow(kept)
            kept.close()

    @contextlib.contextmanager
    def calling(self, session: JvmSession) -> Iterator[None]:
        """Note that code of a plugin runs in this session, which may be what ends the JVM."""
        with self._suspecting:
            self._suspects.setdefault(session.pid, set()).add(session)
        lost = False
        try:
            yield
        except HostLost:
            lost = True
            raise
        finally:
            if not lost:
                with self._suspecting:
                    self._suspects.get(session.pid, set()).discard(session)

    def attempt(self, name: str, thread: str, call: Callable[[JvmSession], R], answer: Answer = unanswered) -> R:
        """Return what ``call`` returns for a new session. If the JVM ends meanwhile, and another call was under way in
        it, ``call`` is called again with the next session, after other calls that are made again, if these do not take
        longer than ``ALONE_SECONDS``.

        Raises HostLost if the JVM ends and no other call was under way, or each time; ConnectError like ``open``.
        """
        with contextlib.ExitStack() as alone:
            for left in reversed(range(ATTEMPTS)):
                session = self.open(name, thread, answer)
                try:
                    with self.calling(session):
                        return call(session)
                except HostLost as lost:
                    if not left or not self._is_one_of_several(session):
                        raise
                    log.warning("The JVM has ended during a call of %s and other calls; they are made again: %s",
                                name, lost)  # fmt: skip
                if left == ATTEMPTS - 1 and self._retrying.acquire(timeout=ALONE_SECONDS):
                    alone.callback(self._retrying.release)
        raise AssertionError("the last attempt returns or raises")

    def _is_one_of_several(self, session: JvmSession) -> bool:
        with self._suspecting:
            return len(self._suspects.get(session.pid, ())) > 1

    def ask(self, plugin: PluginReference, request: JavaRequest[R]) -> R:
        """Return the reply of a new connector of this plugin.

        Raises the plugin's error, BadRequestError if the connector can't be made, ConnectError if the JVM ends.
        """
        name = plugin.java_class

        def call(session: JvmSession) -> R:
            try:
                try:
                    session.call(CreateJavaConnector(plugin), timeout=CALL_SECONDS)
                except KafkaError as error:
                    raise BadRequestError(str(error)) from error
                return session.call(request, timeout=CALL_SECONDS).result
            finally:
                close_later(session)

        try:
            return self.attempt(name, f"connector-{name.rpartition('.')[2]}", call)
        except HostLost as lost:
            raise ConnectError(f"{name} has ended its JVM: {lost}") from lost


def close_later(session: JvmSession) -> None:
    """Close a session without waiting for the plugin's threads."""
    threading.Thread(target=session.close, name="close-session", daemon=True).start()
