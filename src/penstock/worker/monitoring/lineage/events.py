"""Events of OpenLineage, by its Python library: needs the extra ``openlineage``, imported only where it is used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, TypeVar

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

from penstock.core.config.connector import LABELS
from penstock.worker.monitoring.lineage.datasets import Dataset, datasets
from penstock.worker.monitoring.lineage.runs import Fields, RunChange

VERSION = version("penstock")
PRODUCER = f"urn:penstock:{VERSION}"
SOURCE = "PENSTOCK"
D = TypeVar("D", InputDataset, OutputDataset)

set_producer(PRODUCER)


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Place of the jobs in OpenLineage's terms. ``cluster`` has the brokers' addresses, separated by commas."""

    namespace: str
    worker: str
    cluster: str


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
    labels = {name.removeprefix(LABELS): value for name, value in config.items() if name.startswith(LABELS)}
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
