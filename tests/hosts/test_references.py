"""References of Kafka's own jar to Kafka, with and without a class."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from penstock.doctor.references import JarClasses, missing
from penstock.embedded.jars import jars

pytestmark = pytest.mark.integration

REMOVED = "org/apache/kafka/common/utils/AppInfoParser"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def test_a_class_that_is_removed_from_kafka_is_named(tmp_path: Path) -> None:
    kafka = jars("connect")
    (json,) = [each for each in kafka if each.name.startswith("connect-json-")]
    thinner = [_without(REMOVED, each, tmp_path) for each in kafka]
    with JarClasses(kafka) as whole, JarClasses(thinner) as host:
        assert missing([json], whole) == {}
        assert missing([json], host) == {REMOVED.replace("/", "."): {JSON_CONVERTER}}


def _without(name: str, jar: Path, folder: Path) -> Path:
    """Return the jar, or a copy without this class if the jar has it."""
    with zipfile.ZipFile(jar) as archive:
        if f"{name}.class" not in archive.namelist():
            return jar
        with zipfile.ZipFile(folder / jar.name, "w") as copy:
            for each in archive.infolist():
                if each.filename != f"{name}.class":
                    copy.writestr(each, archive.read(each))
    return folder / jar.name
