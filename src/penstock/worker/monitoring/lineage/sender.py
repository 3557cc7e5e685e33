"""Events of OpenLineage, sent in a thread of their own: a collector that is slow or down delays nothing else.

OpenLineage's Python library makes them: this module needs the extra ``openlineage``, and is imported only where it is
used.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, TypeVar

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState, set_producer
from openlineage.client.facet_v2 import (
    error_message_run,
    job_type_job,
    processing_engine_run,
    schema_dataset,
    tags_job,
    tags_run,
)
from openlineage.client.uuid import generate_static_uuid

from penstock.api.config import with_prefix
from penstock.api.errors import ConfigError
from penstock.core.config.connector import LABELS
from penstock.core.model.events import LoopEvent
from penstock.settings.telemetry import LINEAGE_TRANSPORT
from penstock.worker.monitoring.lineage.datasets import Dataset, datasets
from penstock.worker.monitoring.lineage.runs import Fields, LineageConnector, LineageRuns, RunChange

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Events that wait for the collector at most; further events are dropped."""
CLOSE_S = 2.0
WARN_S = 60.0
"""Seconds between two warnings that events could not be sent."""


VERSION = version("penstock")
PRODUCER = f"urn:penstock:{VERSION}"
SOURCE = "PENSTOCK"
D = TypeVar("D", InputDataset, OutputDataset)


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Place of the jobs in OpenLineage's terms. ``cluster`` has the brokers' addresses, separated by commas."""

    namespace: str
    worker: str
    cluster: str


class Lineage:
    """``observe`` is called by the worker's loop with every event and returns at once."""

    def __init__(
        self,
        config: Mapping[str, str],
        place: JobPlace,
        connector: Callable[[str], LineageConnector | None],
        resolve: Callable[[Mapping[str, str]], dict[str, str]],
    ) -> None:
        """``config``: the worker's. ``resolve`` replaces references to config providers, and may block.

        Raises ConfigError if the settings of the transport are not valid.
        """
        self._client, self._place, self._resolve = _client(config), place, resolve
        self._runs = LineageRuns(connector, time.time)
        self._waiting: queue.Queue[RunChange | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._send_all, name="openlineage", daemon=True)
        self._warned = -WARN_S
        self._failed = 0

    def start(self) -> None:
        self._thread.start()

    def observe(self, event: LoopEvent) -> None:
        try:
            for change in self._runs.changes(event):
                self._add(change)
        except Exception as error:  # the worker does not depend on it
            self._unsent(str(error), error)

    def close(self) -> None:
        """Called last; waits for a moment until everything is sent."""
        if self._thread.ident is None:  # the worker could not start
            self._client.close(CLOSE_S)
            return
        for change in self._runs.abandoned():
            self._add(change)
        try:
            self._waiting.put(None, timeout=CLOSE_S)
        except queue.Full:
            return
        self._thread.join(CLOSE_S)

    def _add(self, change: RunChange) -> None:
        try:
            self._waiting.put_nowait(change)
        except queue.Full:
            self._unsent("the collector is too slow", None)

    def _send_all(self) -> None:
        while (change := self._waiting.get()) is not None:
            try:
                self._client.emit(run_event(change, self._resolve(change.connector.config), self._place))
            except Exception as error:
                self._unsent(str(error), error)
        self._client.close(CLOSE_S)

    def _unsent(self, why: str, error: Exception | None) -> None:
        self._failed += 1
        if (now := time.monotonic()) >= self._warned + WARN_S:
            self._warned = now
            log.warning("%d events of OpenLineage could not be sent so far: %s", self._failed, why)
            log.debug("The last one", exc_info=error)


def _client(config: Mapping[str, str]) -> OpenLineageClient:
    transport = _nested(
        {k.removeprefix(LINEAGE_TRANSPORT): v for k, v in config.items() if k.startswith(LINEAGE_TRANSPORT)}
    )
    if transport.get("type") == "file":
        transport.setdefault("append", "true")
        transport["append"] = str(transport["append"]).strip().lower() == "true"
    if isinstance(auth := transport.get("auth"), dict) and "apiKey" in auth:
        auth.setdefault("type", "api_key")
    try:
        if "timeout" in transport:
            transport["timeout"] = float(transport["timeout"])
        client = OpenLineageClient(config={"transport": transport} if transport else None)
    except Exception as error:
        raise ConfigError(f"The transport of `{LINEAGE_TRANSPORT}*` can't be used: {error}") from error
    if client.transport.kind == "console" and not (client.config.transport or {}).get("type"):
        raise ConfigError(
            f"Events of OpenLineage have nowhere to go: set `{LINEAGE_TRANSPORT}type` to http or file with their "
            "settings, or the variable OPENLINEAGE_URL or OPENLINEAGE_CONFIG"
        )
    return client


def _nested(flat: Mapping[str, str]) -> dict[str, Any]:
    """``auth.apiKey`` becomes a member of ``auth``."""
    found: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        place = found
        for each in outer:
            place = place.setdefault(each, {})
        place[last] = value
    return found


set_producer(PRODUCER)


def run_event(change: RunChange, config: Mapping[str, str], place: JobPlace) -> RunEvent:
    """``config``: the connector's, its references resolved."""
    connector = change.connector
    found = datasets(connector.kind, connector.class_name, config, place.cluster, change.topics.keys())
    return RunEvent(
        eventType=RunState[change.type],
        eventTime=_time(change.at).isoformat(timespec="milliseconds"),
        run=_run(change, place),
        job=_job(change, config, place),
        inputs=_described(InputDataset, found.inputs, change.topics, connector.kind == "sink"),
        outputs=_described(OutputDataset, found.outputs, change.topics, connector.kind == "source"),
        producer=PRODUCER,
    )


def _run(change: RunChange, place: JobPlace) -> Run:
    name = f"{place.namespace}/{place.worker}/{change.id}/{change.run}"
    tags = {"task": str(change.id.task), "run": str(change.run), "worker": place.worker}
    facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=VERSION, name="Penstock", openlineageAdapterVersion=VERSION
        ),
        "tags": tags_run.TagsRunFacet(
            tags=[tags_run.TagsRunFacetFields(key=key, value=value, source=SOURCE) for key, value in tags.items()]
        ),
    }
    if change.error is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            message=next(iter(change.error.splitlines()), ""), programmingLanguage="PYTHON", stackTrace=change.error
        )
    return Run(str(generate_static_uuid(_time(change.began), name.encode())), facets)


def _job(change: RunChange, config: Mapping[str, str], place: JobPlace) -> Job:
    facets: dict[str, Any] = {
        "jobType": job_type_job.JobTypeJobFacet(
            processingType="STREAMING", integration=SOURCE, jobType=change.connector.kind.upper()
        )
    }
    labels = with_prefix(config, LABELS)
    if labels:
        facets["tags"] = tags_job.TagsJobFacet(
            tags=[tags_job.TagsJobFacetFields(key=key, value=value, source="USER") for key, value in labels.items()]
        )
    return Job(place.namespace, change.id.connector, facets)


def _described(make: type[D], found: Collection[Dataset], topics: Mapping[str, Fields], are_topics: bool) -> list[D]:
    return [
        make(
            each.namespace,
            each.name,
            facets={"schema": schema_dataset.SchemaDatasetFacet(fields=_fields(known))}
            if are_topics and (known := topics.get(each.name))
            else {},
        )
        for each in found
    ]


def _fields(fields: Iterable[Mapping[str, Any]]) -> list[schema_dataset.SchemaDatasetFacetFields]:
    return [
        schema_dataset.SchemaDatasetFacetFields(
            name=each["name"], type=each["type"], ordinal_position=number, fields=_fields(each["fields"])
        )
        for number, each in enumerate(fields, 1)
    ]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
