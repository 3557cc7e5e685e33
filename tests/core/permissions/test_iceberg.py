"""Files and folders of an Iceberg catalog have to be in the allowed folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.config.permissions.clients import SPARK_SINK
from support.permissions import limited_to, problems

pytestmark = pytest.mark.security

CREATE, WRITE = "iceberg.tables.auto-create-props.", "iceberg.tables.write-props."


def refused(folder: Path, **settings: str) -> list[str]:
    config = {"connector.class": SPARK_SINK, "topics": "t", "format": "iceberg", **settings}
    return list(problems(limited_to([str(folder)]), **config))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iceberg.catalog.warehouse", "/etc/lake"),
        ("iceberg.catalog.warehouse", "file:///etc/lake"),
        ("iceberg.catalog.warehouse", "{place}/../etc"),
        ("iceberg.catalog.warehouse", "s3://other/lake"),
        ("iceberg.catalog.uri", "sqlite:////etc/catalog.db"),
        ("iceberg.catalog.uri", "sqlite:///catalog.db"),
        ("iceberg.catalog.uri", "sqlite:////etc%2Fcatalog.db"),
        ("iceberg.catalog.uri", "sqlite:///{place}/c.db?mode=memory"),
        ("iceberg.catalog.uri", "postgresql://db/x?sslrootcert=/etc/passwd"),
        ("iceberg.catalog.uri", "postgresql:///x?host=/var/run"),
        (f"{CREATE}write.data.path", "/etc/data"),
        (f"{CREATE}write.metadata.path", "file:/etc/metadata"),
        (f"{WRITE}write.data.path", "/etc/data"),
    ],
)
def test_a_file_or_folder_elsewhere_is_refused(tmp_path: Path, name: str, value: str) -> None:
    assert refused(tmp_path, **{name: value.replace("{place}", str(tmp_path))}) == [name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iceberg.catalog.warehouse", "{place}/lake"),
        ("iceberg.catalog.warehouse", "file://{place}/lake"),
        ("iceberg.catalog.warehouse", "the_name_of_one"),
        ("iceberg.catalog.uri", "sqlite:///{place}/catalog.db"),
        ("iceberg.catalog.uri", "postgresql://user@db:5432/x?sslmode=require&host=db"),
        ("iceberg.catalog.uri", "https://catalog/api"),
        (f"{WRITE}write.data.path", "{place}/data"),
    ],
)
def test_a_file_or_folder_in_an_allowed_one_is_not(tmp_path: Path, name: str, value: str) -> None:
    assert refused(tmp_path, **{name: value.replace("{place}", str(tmp_path))}) == []
