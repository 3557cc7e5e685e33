"""Files of client settings, as Kafka's own tools read them."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from penstock.commands._kafka import client_settings


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_bytes(b"sasl.jaas.config=f\xfcr\\u4f60\n")
    found = client_settings(None, tmp_path / "client.properties", {})
    assert found["sasl.jaas.config"] == "f\u00fcr\u4f60"


@pytest.mark.parametrize("content", [None, rb"a=\u12x4"])
def test_a_file_that_can_not_be_read(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "client.properties"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(typer.BadParameter, match=r"client\.properties can't be read: "):
        client_settings(None, file, {})
