from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource

from penstock.embedded import Broker, EmbeddedError
from penstock.embedded.broker import holds_lock
from penstock.embedded.ports import answers, ports
from support.kafka.client import Kafka, answered
from support.waiting import until


def test_a_free_port_is_found_and_a_taken_one_is_named() -> None:
    broker, controller = ports(0)
    assert broker != controller
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(EmbeddedError) as refused:
            ports(taken)
        assert str(refused.value) == (
            f"Port {taken} of this machine is taken: stop what listens there, "
            "or choose another port (0 takes a free one)."
        )
        assert not answers(ports(0)[0])
    with pytest.raises(EmbeddedError, match="There is no port 70000"):
        ports(70000)


def test_a_folder_without_a_broker_has_no_lock(tmp_path: Path) -> None:
    assert not holds_lock(tmp_path)
    (tmp_path / ".lock").touch()
    assert not holds_lock(tmp_path)


def test_too_little_room_is_said_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError) as refused, Broker(tmp_path, free_to_start=1 << 60):
        pass
    assert f"No space is left on the disk of {tmp_path}: " in str(refused.value)
    assert "a broker needs 1099511627776 MB to start" in str(refused.value)


def test_a_taken_port_leaves_nothing_behind() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        broker = Broker(port=other.getsockname()[1])
        with pytest.raises(EmbeddedError, match="is taken"):
            broker.start()
    assert not broker.directory.exists()


@pytest.mark.integration
def test_records_and_settings_survive_a_restart(tmp_path: Path) -> None:
    with Broker(tmp_path, extra={"message.max.bytes": "123456"}) as broker:
        kafka = Kafka(broker.bootstrap)
        resource = ConfigResource(ConfigResource.Type.BROKER, "1")
        settings = answered(lambda: kafka.admin.describe_configs([resource])[resource].result())
        assert settings["message.max.bytes"].value == "123456"
        topic = kafka.create_topic()
        kafka.produce(topic, ["kept"])
        assert kafka.values(topic) == [b"kept"]
        with pytest.raises(EmbeddedError, match=f"Another broker uses {tmp_path}"):
            Broker(tmp_path).start()
        assert broker.running
    assert not broker.running
    assert not answers(broker.port)
    with Broker(tmp_path) as broker:
        assert Kafka(broker.bootstrap).values(topic) == [b"kept"]


@pytest.mark.integration
def test_a_further_listener_is_served() -> None:
    port, _ = ports(0)
    extra = {
        "listeners": f"OTHER://127.0.0.1:{port}",
        "advertised.listeners": f"OTHER://127.0.0.1:{port}",
        "listener.security.protocol.map": "OTHER:PLAINTEXT",
    }
    with Broker(extra=extra) as broker:
        scratch = broker.directory
        other = Kafka(f"127.0.0.1:{port}")
        topic = other.create_topic()
        other.produce(topic, ["x"])
        assert Kafka(broker.bootstrap).values(topic) == [b"x"]
    assert not scratch.exists()


@pytest.mark.integration
def test_settings_that_the_broker_refuses_are_named() -> None:
    with pytest.raises(EmbeddedError) as refused, Broker(extra={"num.partitions": "many"}):
        pass
    assert "The broker refused its settings: Invalid value many for configuration num.partitions" in str(refused.value)


@pytest.mark.integration
def test_a_full_disk_is_named(full_disk: Path) -> None:
    with pytest.raises(EmbeddedError, match=f"No space is left on the disk of {full_disk}"), Broker(full_disk):
        pass


@pytest.mark.integration
@pytest.mark.parametrize("pages", [0, 5])
def test_a_disk_that_fills_up_while_starting_is_named(full_disk: Path, pages: int) -> None:
    """Without a page the settings can't be written; with a few, formatting fails, which is Java's to tell."""
    with (full_disk / "filler").open("wb", buffering=0) as filler:
        free = shutil.disk_usage(full_disk).free
        filler.write(bytes(free - pages * 4096))
    with (
        pytest.raises(EmbeddedError, match=f"No space is left on the disk of {full_disk}"),
        Broker(full_disk, free_to_start=0),
    ):
        pass


@pytest.mark.integration
def test_a_folder_whose_formatting_was_interrupted_is_formatted_again(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("#\n")
    with Broker(tmp_path) as broker:
        assert broker.running


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_broker_ends_with_its_owner(number: int, tmp_path: Path) -> None:
    program = (
        "import sys, time; from penstock.embedded import Broker; b = Broker(sys.argv[1]); b.start();"
        "print(b.port, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        port = int(owner.stdout.readline())
        until(lambda: answers(port), "the broker answers")
        os.kill(owner.pid, number)
    give_up = time.monotonic() + 900
    while holds_lock(tmp_path / "data"):
        assert time.monotonic() < give_up, "the broker outlives its owner"
        time.sleep(0.1)
    assert not answers(port)
