"""The two requests that workers sign with the session key (KIP-507), sent by others, or sent again."""

from __future__ import annotations

import base64
import hmac
import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.core.model.records import SessionKey
from support.rest.cluster import RestCluster

pytestmark = pytest.mark.security
TASKS, FENCE = "/connectors/lines/tasks", "/connectors/lines/fence"
BODY = json.dumps([{"connector.class": "FileStreamSource", "topic": "t", "file": "f"}]).encode()


@pytest.fixture
def key(cluster: RestCluster) -> bytes:
    config = {"name": "lines", "connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    cluster.submit("one", m.CreateConnector("lines", config))
    known = cluster.workers["one"].herder.state.session_key
    assert known is not None
    return known.key


@pytest.fixture
def audited(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    caplog.set_level(logging.INFO, "penstock.audit")

    def lines() -> list[dict[str, Any]]:
        found = [json.loads(record.getMessage()) for record in caplog.records if record.name == "penstock.audit"]
        caplog.clear()
        return found

    return lines


def signed(key: bytes, body: bytes = BODY, digest: str = "sha256", algorithm: str = "HmacSHA256") -> dict[str, str]:
    signature = base64.b64encode(hmac.digest(key, body, digest)).decode()
    return {m.SIGNATURE_HEADER: signature, m.ALGORITHM_HEADER: algorithm}


def test_a_signature_is_of_this_body_and_by_the_present_key(
    api: Any, cluster: RestCluster, key: bytes, audited: Callable[[], list[dict[str, Any]]]
) -> None:
    right = signed(key)
    assert api.post(TASKS, content=BODY, headers=right).status_code == 204
    assert audited()[-1]["outcome"] == "done"
    for headers, body, status in (
        ({}, BODY, 400),
        ({m.SIGNATURE_HEADER: right[m.SIGNATURE_HEADER]}, BODY, 400),
        ({m.ALGORITHM_HEADER: "HmacSHA256"}, BODY, 400),
        (right, BODY + b" ", 403),
        (right, b"[]", 403),
        (right, b"", 403),
        ({**right, m.SIGNATURE_HEADER: ""}, BODY, 403),
        ({**right, m.SIGNATURE_HEADER: "AAAA"}, BODY, 403),
        ({**right, m.SIGNATURE_HEADER: "?"}, BODY, 400),
        ({**right, m.SIGNATURE_HEADER: right[m.SIGNATURE_HEADER][:-4]}, BODY, 403),
        (signed(b"another key"), BODY, 403),
        (signed(b""), BODY, 403),
        (signed(key, digest="md5"), BODY, 403),
        (signed(key, digest="md5", algorithm="HmacMD5"), BODY, 400),
        *(
            ({**right, m.ALGORITHM_HEADER: name}, BODY, 400)
            for name in ("", "none", "hmacsha256", "SHA256", "HmacSHA1")
        ),
    ):
        answer = api.post(TASKS, content=body, headers=headers)
        assert answer.status_code == status, (headers, answer.text)
        line = audited()[-1]
        assert (line["request"], line["outcome"], line["principal"]) == (f"POST {TASKS}", "refused", None)
        assert line["address"] == "127.0.0.1"


def test_two_signatures_are_none(api: Any, key: bytes) -> None:
    right = list(signed(key).items())
    for name, value in ((m.SIGNATURE_HEADER, "AAAA"), (m.ALGORITHM_HEADER, "HmacSHA256")):
        for headers in ([(name, value), *right], [*right, (name, value)]):
            assert api.post(TASKS, content=BODY, headers=httpx.Headers(headers)).status_code == 400


@pytest.mark.parametrize("path", [TASKS, FENCE])
def test_a_signature_by_an_older_key_is_over(
    api: Any, cluster: RestCluster, key: bytes, audited: Callable[[], list[dict[str, Any]]], path: str
) -> None:
    method, body = ("POST", BODY) if path == TASKS else ("PUT", b"")
    old = signed(key, body)
    assert api(method, path, content=body, headers=old).status_code == 204
    for worker in cluster.workers.values():
        worker.herder.state.session_key = SessionKey(b"n" * 32, "HmacSHA256", 1)
    audited()
    assert api(method, path, content=body, headers=old).status_code == 403
    assert audited()[-1]["outcome"] == "refused"
    assert api(method, path, content=body, headers=signed(b"n" * 32, body)).status_code == 204


def test_the_session_key_signs_no_other_request(api: Any, key: bytes) -> None:
    """Neither are such requests answered where one is wanted, nor without a signature of their own elsewhere."""
    for method, path in (("PUT", TASKS), ("PATCH", TASKS), ("POST", FENCE), ("DELETE", FENCE)):
        assert api(method, path, content=b"", headers=signed(key, b"")).status_code == 405
