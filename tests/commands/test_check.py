"""``penstock check`` against a cluster in memory; targets are contacted in ``tests/preview/test_target_check.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commands.conftest import Run
from penstock.core.model import local_requests as local

STEPS = [{"part": "consumer", "step": "dns", "outcome": "failed", "message": "No address is known for b1"}]


def test_files_and_names_are_checked_each_by_itself(penstock: Run, cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text('name: orders\nconfig: {connector.class: FileStreamSource, topic: "{{ t }}", file: f}\n')
    done = penstock("check", str(file), "--var", "t=x", "--seconds", "7")
    assert done.exit_code == 0
    assert "Connector orders: ok" in done.stdout
    config = {"connector.class": "FileStreamSource", "topic": "x", "file": "f"}
    assert cluster.checks == [local.CheckConfig("orders", {**config, "name": "orders"}, False, 7)]

    cluster.checked = {"outcome": "failed", "steps": STEPS}
    done = penstock("check", str(file), "--var", "t=x", "nobody")
    assert done.exit_code == 1
    assert "FAILED" in done.stdout
    assert "No address is known for b1" in done.stdout
    assert "2 of 2 connectors have failed: orders, nobody" in done.stderr

    done = penstock("check", "nobody", "-o", "json")
    (found,) = json.loads(done.stdout)
    assert found["steps"][0]["step"] == "request"
    assert "nobody" in found["steps"][0]["message"]
