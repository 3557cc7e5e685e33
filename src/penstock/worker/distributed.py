"""The foundation of a distributed worker: its internal topics and its group."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from penstock.api.errors import ConnectError
from penstock.core.group.leadership import Fenced, TooLarge
from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.model.events import CaughtUp, ConfigRead, Degraded, Event, StatusNotWritten, StatusRead
from penstock.core.model.limits import DEFAULT_RECORD_BYTES
from penstock.core.model.records import ConfigRecord, ConfigTopicRecord, StatusRecord, StatusTopicRecord
from penstock.kafka.admin import topic_configs
from penstock.kafka.background import in_background
from penstock.kafka.client_settings import internal, own_client_id
from penstock.kafka.clients import new_admin
from penstock.kafka.group.member import GroupMember
from penstock.kafka.log.outages import Outages
from penstock.kafka.log.privileged_writer import PrivilegedWriteError
from penstock.kafka.log.writer import RecordTooLargeError
from penstock.kafka.offsets.topic import OffsetTopic, worker_offsets
from penstock.kafka.storage.stores import ConfigStore, StatusStore
from penstock.settings import WorkerSettings

log = logging.getLogger(__name__)

Done = Callable[[BaseException | None], None]
STOP_TIMEOUT_S = 10.0


class KafkaFoundation:
    """The config, status and offsets topics and the membership in the group, of one worker.

    ``deliver`` is given the records read and the group's events. A topic that can't be used is reported by ``failed``,
    once.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        rest_url: str,
        deliver: Callable[[Event], None],
        failed: Callable[[Exception], None],
    ) -> None:
        assert settings.group is not None
        self._deliver = deliver
        self._to_read = 3
        self._lock = threading.Lock()
        config, group = dict(settings.config), settings.group
        self._settings = config
        of_topics: dict[str, Any] = {
            "on_caught_up": self._caught_up,
            "on_failed": failed,
            "outages": Outages(self._degraded),
        }
        self._config = ConfigStore(config, self._config_read, **of_topics)
        self._status = StatusStore(config, self._status_read, **of_topics)
        self.offset_store: OffsetTopic = worker_offsets(config, **of_topics)
        self._member = GroupMember(
            config,
            group.group_id,
            rest_url,
            group.protocol,
            group.scheduled_rebalance_max_delay_ms,
            deliver,
            group.max_bytes,
        )

    def revocation_left(self) -> float:
        """See ``GroupMember.revocation_left``."""
        return self._member.revocation_left

    def open(self) -> None:
        """Start to read the topics; ``CaughtUp`` is delivered when everything that they have now has been read."""
        self._config.start()
        self._status.start()
        self.offset_store.start()

    def leave(self) -> None:
        """Leave the group after all work has ended, so that the others need not wait for the session to expire."""
        self._member.leave_and_stop(STOP_TIMEOUT_S)

    def close(self) -> None:
        """Write pending records, and end."""
        for store in (self._status, self._config, self.offset_store):
            store.close()

    # -- the config topic, as ``loop.ConfigLog``

    def append_config(self, records: tuple[ConfigTopicRecord, ...], as_leader: bool, done: Done) -> None:
        """Append records to the config topic; ``done`` is called when they have been read back."""

        def appended(error: BaseException | None) -> None:
            if isinstance(error, RecordTooLargeError):
                in_background(
                    "config-limit", lambda: self._too_large(error), lambda found, failed: done(found or failed)
                )
            else:
                done(_known(error))

        self._config.append(records, appended, privileged=as_leader)

    def _too_large(self, error: RecordTooLargeError) -> TooLarge:
        settings = internal(self._settings, "admin", own_client_id(self._settings, "limits"))
        try:
            limit = topic_configs(new_admin(settings), error.topic).get("max.message.bytes", "unknown")
        except ConnectError as unknown:
            limit = f"unknown: {unknown}"
        own = self._settings.get("max.request.size", DEFAULT_RECORD_BYTES)
        return TooLarge(f"{error}: its max.message.bytes is {limit}, and max.request.size of the worker is {own}")

    def read_config_to_end(self, done: Done) -> None:
        self._config.read_to_end(done)

    def claim(self, done: Done) -> None:
        self._config.claim_write_privileges(lambda error: done(_known(error)))

    # -- the status topic

    def append_status(self, records: Sequence[StatusTopicRecord]) -> None:
        def done(error: Exception | None) -> None:
            if error is not None:
                log.error("A status could not be written: %s", error)
                self._deliver(StatusNotWritten(tuple(records)))

        self._status.append(records, done)

    # -- the group

    def join(self) -> None:
        self._member.start()

    def publish(self, snapshot: ClusterConfigSnapshot) -> None:
        self._member.publish(snapshot)

    def rejoin(self, reason: str) -> None:
        self._member.request_rejoin(reason)

    def leave_for_now(self, reason: str, keeps_work: bool) -> None:
        self._member.leave(reason, keeps_work)

    def confirm(self, done: Callable[[bool], None]) -> None:
        """See ``GroupMember.confirm``."""
        self._member.confirm(done)

    def tick(self) -> None:
        self._member.tick()

    # -- what is read

    def _config_read(self, entries: list[ConfigRecord]) -> None:
        self._deliver(ConfigRead(tuple(entries)))

    def _status_read(self, entries: list[StatusRecord]) -> None:
        self._deliver(StatusRead(tuple(entry.record for entry in entries)))

    def _degraded(self, sentence: str | None) -> None:
        self._deliver(Degraded("topics", sentence))

    def _caught_up(self) -> None:
        with self._lock:
            self._to_read -= 1
            if self._to_read == 0:
                self._deliver(CaughtUp())


def _known(error: BaseException | None) -> BaseException | None:
    """Replace an exception of Kafka by the core's own."""
    return Fenced(str(error)) if isinstance(error, PrivilegedWriteError) else error
