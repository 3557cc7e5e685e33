"""Secrets of queries: Spark ships references only, and executors fetch the contents from the driver's process."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.rows.pipeline import Rows
from support.spark.host import make_spec

SPEC = make_spec(password="canary-1")
DURING = """
import pickle, sys, time
with pickle.loads(bytes.fromhex(sys.argv[1])).during_the_run() as spec:
    print(spec.config["password"], flush=True)
    if sys.argv[2] == "stays":
        time.sleep(600)
time.sleep(0.1)
sys.exit(3)
"""


def test_a_closure_has_no_secret() -> None:
    with Safe("127.0.0.1") as safe:
        shipped = pickle.dumps(Rows(safe.keep_spec(SPEC), None, None))  # type: ignore[arg-type]
        assert b"canary" not in shipped
        assert pickle.loads(shipped).spec.spec() == SPEC


def test_nothing_is_given_to_strangers() -> None:
    with Safe("127.0.0.1") as safe:
        kept = safe.keep(b"canary-2")
        with pytest.raises(OSError, match="does not know this task"):
            replace(kept, key=bytes(32)).contents()
        with pytest.raises(OSError, match="another certificate"):
            replace(kept, fingerprint="0" * 64).contents()
        # A client without TLS, or one that sends nothing, does not delay others.
        silent = [socket.create_connection((kept.host, kept.port)) for _ in range(300)]
        silent[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert kept.contents() == b"canary-2"
        for each in silent:
            each.close()


def test_the_system_finds_out_when_the_other_machine_is_gone() -> None:
    with Safe("127.0.0.1") as safe:
        connection, contents = safe.keep(b"canary-4").connected()
        with connection:
            assert contents == b"canary-4"
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_nothing_is_left_after_the_run() -> None:
    with Safe("127.0.0.1") as safe:
        kept = safe.keep(b"canary-3")
    with pytest.raises(OSError):
        kept.contents()


def test_nothing_is_given_to_a_run_that_may_not_write_any_more() -> None:
    leased = True
    with Safe("127.0.0.1", lambda: leased) as safe:
        kept = safe.keep(b"canary-5")
        assert kept.contents() == b"canary-5"
        leased = False
        with pytest.raises(OSError, match="does not know this task"):
            kept.contents()


@pytest.mark.parametrize(("stays", "code"), [("stays", 0), ("leaves", 3)])
def test_a_process_can_end_with_the_run(stays: str, code: int) -> None:
    with Safe("127.0.0.1") as safe:
        shipped = pickle.dumps(safe.keep_spec(SPEC)).hex()
        process = subprocess.Popen([sys.executable, "-c", DURING, shipped, stays], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == "canary-1\n"
            if stays == "leaves":
                assert process.wait() == code
    assert process.wait() == code
