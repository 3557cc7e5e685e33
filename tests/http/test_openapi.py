"""``GET /openapi.json``: it describes every path, and the replies match it."""

from __future__ import annotations

import os
import re
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from penstock.core.model import messages as m
from penstock.http.app import make_router
from penstock.http.forwarding import Peers
from penstock.http.openapi.document import INTERNAL, OPERATIONS, document
from penstock.http.routes.workers import Workers


def router(**which: bool) -> Any:
    return make_router(lambda request: pytest.fail(f"asked for {request}"), httpx.AsyncClient(verify=False), **which)


class NoRows:
    def here(self) -> Any: ...
    def rows(self, answers: Any) -> Any: ...


class NoConnectors:
    def all(self) -> Any: ...
    def one(self, name: str) -> Any: ...


def test_every_path_is_described() -> None:
    client = httpx.AsyncClient(verify=False)
    app = make_router(
        lambda _: pytest.fail("not called"),
        client,
        metrics=lambda: b"",
        workers=Workers(dict, Peers("http://one", client)),
        peers=Peers("http://one", client),
        attention=NoRows(),
        candidates=NoConnectors(),
    )
    there = {f"{method} {path}" for path, methods in app.paths() for method in methods}
    internal = {"POST /connectors/{name}/tasks", "PUT /connectors/{name}/fence"}
    assert there - internal == set(OPERATIONS)
    assert set(document(app.paths())["paths"]) == {path for path, _ in app.paths()} - set(INTERNAL)


def test_a_listener_lists_only_its_own_paths() -> None:
    assert set(document(router(regular=False).paths())["paths"]) == {
        "/admin/loggers",
        "/admin/loggers/{logger}",
        "/openapi.json",
    }
    assert not any(path.startswith("/admin") for path in document(router(admin=False).paths())["paths"])


def test_operations_have_names_and_tags() -> None:
    made = document(router(metrics=lambda: b"").paths())
    operations = [each for path in made["paths"].values() for verb, each in path.items() if verb != "parameters"]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    for name in ("getRoot", "getConnectors", "postConnectors", "getConnectorsByNameStatus", "getOpenapiJson"):
        assert name in names
    assert all(re.fullmatch("[a-z]+(?:[A-Z][a-z0-9]*)+", name) for name in names)
    assert {tag for each in operations for tag in each["tags"]} == {tag["name"] for tag in made["tags"]}
    status = made["paths"]["/connectors/{name}/status"]["get"]
    assert (status["operationId"], status["tags"]) == ("getConnectorsByNameStatus", ["Connectors"])
    assert "Penstock" in made["info"]["title"]


def test_the_document_has_the_ways_to_authenticate() -> None:
    made = document(router().paths())
    schemes = made["components"]["securitySchemes"]
    assert {name: (each["type"], each["scheme"]) for name, each in schemes.items()} == {
        "basic": ("http", "basic"), "bearer": ("http", "bearer")
    }  # fmt: skip
    assert made["security"] == [{}, {"basic": []}, {"bearer": []}]


FEW_EXAMPLES = settings(
    max_examples=int(os.environ.get("PENSTOCK_TEST_EXAMPLES", "5")),
    deadline=None,
    derandomize="PENSTOCK_TEST_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
NOT_HERE = ("GET /metrics", "GET /penstock/v1/connectors/{name}/logs/stream")
"""Operations that are left out; the reply of the second is endless."""
NO_SCHEMA_KNOWS = [positive_data_acceptance]
"""Checks that the schema cannot satisfy: it does not know the classes and their settings, nor that ``a/b`` is refused
only if there is no such connector.
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each not in NOT_HERE])
def test_replies_match_the_document(cluster: Any, operation: str, mode: GenerationMode) -> None:
    """Valid and invalid requests of every kind get replies as documented, and never an internal error."""
    app = cluster.app("one")
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    cluster.submit("one", m.CreateConnector("lines", {"name": "lines", **config}))
    method, path = operation.split()
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)

    @given(schema[path][method].as_strategy(generation_mode=mode))
    @FEW_EXAMPLES
    def check(case: Any) -> None:
        case.call_and_validate(excluded_checks=NO_SCHEMA_KNOWS)

    try:
        check()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # an operation in which nothing can be invalid
