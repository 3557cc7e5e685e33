from pathlib import Path

import pytest

from penstock.embedded.server import explanation, properties_text, server_properties
from penstock.java.properties import parse_properties


def test_further_listeners_are_added_and_other_settings_win() -> None:
    extra = {
        "listeners": "SASL_SSL://127.0.0.1:3",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL",
        "num.partitions": "4",
        "message.max.bytes": "7",
    }
    found = server_properties(Path("/d"), 1, 2, extra)
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2,SASL_SSL://127.0.0.1:3"
    assert found["listener.security.protocol.map"] == "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL"
    assert (found["num.partitions"], found["message.max.bytes"], found["log.dirs"]) == ("4", "7", "/d")


def test_a_controller_alone_has_one_listener() -> None:
    found = server_properties(Path("/d"), 1, 2, {"process.roles": "controller"})
    assert (found["listeners"], found["controller.quorum.voters"]) == ("CONTROLLER://127.0.0.1:1", "1@127.0.0.1:1")
    assert not {"advertised.listeners", "inter.broker.listener.name"} & set(found)


def test_every_internal_topic_can_live_on_one_broker() -> None:
    found = server_properties(Path("/d"), 1, 2, {})
    replicated = {key for key in found if key.endswith(("replication.factor", "min.isr", "min.insync.replicas"))}
    assert len(replicated) == 7
    assert {found[key] for key in replicated} == {"1"}


def test_properties_keep_what_java_would_take_for_an_escape() -> None:
    assert properties_text({"a": "b\\c\nd", "e": "f=g"}) == "a=b\\\\c\\nd\ne=f=g\n"


def test_properties_keep_the_names_of_folders_in_any_language() -> None:
    """Java reads the file as Latin-1, and so does a worker."""
    text = properties_text({"log.dirs": "/home/jörg/数据/😀"})
    assert text == "log.dirs=/home/j\\u00f6rg/\\u6570\\u636e/\\ud83d\\ude00\n"
    assert parse_properties(text) == {"log.dirs": "/home/jörg/数据/😀"}


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (
            "[x] ERROR y (z)\njava.io.IOException: No space left on device\n\tat a.b(c)\n",
            "No space is left on the disk of /b: free some, or choose another folder for the broker's data.",
        ),
        (
            "Caused by: java.net.BindException: Address already in use\n",
            "Port 5 of this machine is taken: stop what listens there, or choose another port (0 takes a free one).",
        ),
        (
            "kafka.common.KafkaException: Failed to acquire lock on file .lock in /b/data.",
            "Another broker uses /b: stop it first, or choose another folder.",
        ),
        (
            "Error occurred during initialization of VM\nCould not reserve enough space for object heap\n",
            "There is not enough memory for a broker, which needs about 1 GB: stop something else first.",
        ),
        (
            "org.apache.kafka.common.config.ConfigException: Invalid value x for configuration y: Not a number\n",
            "The broker refused its settings: Invalid value x for configuration y: Not a number.",
        ),
        (
            "[1] INFO up (k)\n[2] ERROR it broke (k)\n\tat a.b\n[3] INFO bye (k)\n",
            "The broker did not start: [2] ERROR it broke (k) (its log is /b/broker.log).",
        ),
        ("", "The broker did not start: it logged nothing (its log is /b/broker.log)."),
    ],
)
def test_a_broker_that_does_not_start_is_explained(log: str, sentence: str) -> None:
    assert explanation(log, Path("/b"), 5) == sentence
