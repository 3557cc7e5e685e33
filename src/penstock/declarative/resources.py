"""Files that describe connectors: Kafka Connect's JSON and properties, YAML, and Kubernetes-like resources.

Of resources those of kind ``KafkaConnector`` count, Strimzi's (``kafka.strimzi.io``) and Jikkou's (``kafka.jikkou.io``)
as they are; others are left out. A file may hold several YAML documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from penstock.api.errors import ConfigError
from penstock.core.config.connector import LABELS
from penstock.core.config.restarts import RESTART_MAX, RESTART_POLICY
from penstock.core.model import messages as m
from penstock.declarative.variables import substituted, yaml_documents, yaml_problem
from penstock.files import read_file
from penstock.http.routes.connectors import INITIAL_STATES, creation
from penstock.worker.connector_file import parse_connector

SUFFIXES = (".json", ".properties", ".yaml", ".yml")
KIND = "KafkaConnector"
_OTHERS_LABELS = ("strimzi.io/", "kafka.jikkou.io/", "app.kubernetes.io/", "kubernetes.io/")
_CLUSTER_LABELS = ("strimzi.io/cluster", "kafka.jikkou.io/connect-cluster")
_STATES = {"running": "STARTED", "paused": "PAUSED", "stopped": "STOPPED"}
IGNORED, DELETED = ("jikkou.io/ignore", "strimzi.io/pause-reconciliation"), "jikkou.io/delete"
"""Annotations that, when ``true``, leave the connector alone, or have it deleted."""
_OFFSETS = {"listOffsets": "penstock offsets get", "alterOffsets": "penstock offsets alter"}
"""Fields for Strimzi's reading and writing of offsets on request by an annotation, which are no part of the target
state; with the commands for it here.
"""
_SPEC = ("class", "connectorClass", "tasksMax", "config", "pause", "state", "version", "autoRestart", *_OFFSETS)


@dataclass(frozen=True, slots=True)
class Resource:
    """A connector as a file wants it."""

    path: Path
    wanted: m.CreateConnector
    state: str | None = None
    """The target state: ``STARTED``, ``PAUSED``, ``STOPPED``; None leaves it as it is."""
    cluster: str | None = None
    """The name of the Connect cluster it is for, if the file says so."""
    ignored: bool = False
    """It is to stay as it is, whatever that is."""
    deleted: bool = False
    """There is to be no such connector."""
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.wanted.name


def read_resources(
    given: Iterable[Path], variables: Mapping[str, str], default_name: str | None = None
) -> list[Resource]:
    """All connectors of these files and of the files in these folders; settings without a name get ``default_name``.
    Raises ConfigError.
    """
    found = [resource for path in _files(given) for resource in _resources(path, variables, default_name)]
    seen: dict[tuple[str | None, str], Path] = {}
    for resource in found:
        place = resource.cluster, resource.name
        if place in seen:
            raise ConfigError(f"Connector {resource.name} is described twice, in {seen[place]} and in {resource.path}")
        seen[place] = resource.path
    return found


def _files(given: Iterable[Path]) -> Iterator[Path]:
    for path in given:
        if not path.is_dir():
            yield path
            continue
        found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
        if not found:
            raise ConfigError(f"The folder {path} holds no file that ends in {', '.join(SUFFIXES)}")
        yield from found


def _resources(path: Path, variables: Mapping[str, str], default_name: str | None) -> Iterator[Resource]:
    try:
        content = read_file(path, regular=False)
    except OSError as error:
        raise ConfigError(f"The connector's file {path} cannot be read: {error.strerror}") from error
    if path.suffix not in (".yaml", ".yml"):
        wanted = parse_connector(path, content, default_name, lambda text: substituted(text, variables, path))
        yield _named(Resource(path, wanted))
        return
    try:
        text = substituted(content.decode("utf-8"), variables, path)
        documents = [each for each in yaml_documents(text) if each is not None]
    except UnicodeDecodeError:
        raise ConfigError(f"The connector's file {path} is not YAML: it is not UTF-8") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"The connector's file {path} is not YAML: {yaml_problem(error)}") from error
    for document in documents:
        for each in _items(document):
            resource = _resource(path, each, default_name)
            if resource is not None:
                yield _named(resource)


def _items(document: Any) -> list[Any]:
    """The documents in a list of resources, or this one."""
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        return list(document.get("items") or [])
    return [document]


def _resource(path: Path, document: Any, default_name: str | None) -> Resource | None:
    """None for a resource that is no connector."""
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must describe a connector: an object of settings, or a resource of kind {KIND}")
    if "kind" in document and "apiVersion" in document:
        return _of_kubernetes(path, document) if document["kind"] == KIND else None
    if "config" in document:
        given = document["config"]
        settings = {str(key): _plain(value) for key, value in given.items()} if isinstance(given, dict) else given
        return Resource(path, _creation(path, {**document, "name": _plain(document.get("name")), "config": settings}))
    settings = {str(key): _plain(value) for key, value in document.items()}
    return Resource(path, _creation(path, {"name": settings.get("name", default_name), "config": settings}))


def _of_kubernetes(path: Path, document: dict[str, Any]) -> Resource:
    metadata, spec = _member(path, "metadata", document), _member(path, "spec", document)
    labels, annotations = _member(path, "metadata.labels", metadata), _member(path, "metadata.annotations", metadata)
    name = str(metadata.get("name") or "")
    for key in spec:
        if key not in _SPEC:
            raise ConfigError(
                f"{path}: `spec.{key}` of connector {name} is not supported; there are {', '.join(_SPEC)}"
            )
    config = {key: _plain(value) for key, value in _member(path, "spec.config", spec).items()}
    cls = spec.get("class") or spec.get("connectorClass")
    own = {"connector.class": cls, "tasks.max": spec.get("tasksMax"), "connector.plugin.version": spec.get("version")}
    config |= {key: _plain(value) for key, value in own.items() if value is not None}
    config |= {LABELS + key: str(value) for key, value in labels.items() if not key.startswith(_OTHERS_LABELS)}
    config |= _restart_policy(path, name, _member(path, "spec.autoRestart", spec))
    cluster = next((str(labels[key]) for key in _CLUSTER_LABELS if key in labels), None)
    return Resource(
        path,
        _creation(path, {"name": name, "config": config}),
        _state(path, name, spec),
        cluster,
        ignored=any(_is_true(annotations.get(key)) for key in IGNORED),
        deleted=_is_true(annotations.get(DELETED)),
        warnings=tuple(
            f"`spec.{key}` in {path} has no effect here: use `{command} {name}`"
            for key, command in _OFFSETS.items()
            if key in spec
        ),
    )


def _member(path: Path, name: str, owner: Mapping[str, Any]) -> dict[str, Any]:
    """The object of this name, whose last part it has in ``owner``; empty if it is not there."""
    value = owner.get(name.rpartition(".")[2])
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{path}: `{name}` must be an object of names and values")
    return {str(key): each for key, each in (value or {}).items()}


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"


def _restart_policy(path: Path, name: str, given: Mapping[str, Any]) -> dict[str, str]:
    for key in given:
        if key not in ("enabled", "maxRestarts"):
            right = "there are enabled, maxRestarts"
            raise ConfigError(f"{path}: `spec.autoRestart.{key}` of connector {name} is not supported; {right}")
    enabled, most = given.get("enabled"), given.get("maxRestarts")
    policy = {} if enabled is None else {RESTART_POLICY: "on-failure" if enabled else "never"}
    return policy if most is None else {**policy, RESTART_MAX: str(most)}


def _state(path: Path, name: str, spec: Mapping[str, Any]) -> str:
    state = str(spec.get("state") or ("paused" if spec.get("pause") else "running")).lower()
    if state not in _STATES:
        raise ConfigError(
            f"{path}: `spec.state={state}` of connector {name} is unknown; there are {', '.join(_STATES)}"
        )
    return _STATES[state]


def _creation(path: Path, document: Any) -> m.CreateConnector:
    try:
        return creation(document)
    except m.Refused as error:
        raise ConfigError(f"The connector's file {path} is not a connector configuration: {error}") from error


def _plain(value: Any) -> Any:
    """YAML's values as Kafka Connect's JSON has them: a list becomes one setting, separated by commas."""
    if isinstance(value, list):
        return ",".join("" if each is None else str(_plain(each)) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, (str, dict)):
        return value
    return str(value)


def _named(resource: Resource) -> Resource:
    if not resource.name:
        raise ConfigError(f"{resource.path} does not name its connector: add a `name`.")
    return resource


INITIAL = {state: name for name, state in INITIAL_STATES.items()}
"""The REST API's names of the target states."""
