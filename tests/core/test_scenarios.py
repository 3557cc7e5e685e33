"""Scenarios of whole clusters in ``scenarios/*.txt``: commands, a line ``----``, and their results.

``pytest tests/core/test_scenarios.py --rewrite`` writes what comes of them today into the files. Commit such changes
only if you understand what caused them and want them.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from simulation.cluster import Cluster

FOLDER = Path(__file__).parent / "scenarios"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda p: p.stem)
def test_scenario(path: Path, request: pytest.FixtureRequest) -> None:
    given = path.read_text()
    told = tell(given)
    if request.config.getoption("--rewrite"):
        path.write_text(told)
        return
    assert told == given


def tell(text: str) -> str:
    """Return the scenario with the present results of its commands."""
    out: list[str] = []
    lines: list[str] = []
    cluster = Cluster(lines.append)
    for block in text.rstrip("\n").split("\n\n"):
        commands = block.split("\n----")[0].split("\n")
        lines.clear()
        for command in commands:
            if not command.startswith("#"):
                cluster = run(cluster, command, lines)
        said = [] if all(c.startswith("#") for c in commands) else ["----", *lines]
        out.append("\n".join([*commands, *said]))
    return "\n\n".join(out) + "\n"


def run(cluster: Cluster, command: str, lines: list[str]) -> Cluster:
    verb, *words = shlex.split(command)
    options: dict[str, Any] = dict(w.split("=", 1) for w in words if "=" in w)
    plain = [w for w in words if "=" not in w]
    match verb, plain:
        case "cluster", []:
            version = 0 if options.pop("eager", "false") == "true" else 2
            times = {k: int(options.pop(k)) for k in list(options) if k.endswith("_ms")}
            policy = options.pop("restart_policy", "never")
            flags = {k: v == "true" for k, v in options.items()}
            cluster = Cluster(lines.append, restart_policy=policy, **flags, **times)
            cluster.group.max_delay_ms, cluster.group.version = times.get("max_delay_ms", 0), version
        case "from-now-on", []:
            numbers = {k: int(v) for k, v in options.items()}
            cluster.group.version = numbers.pop("version", cluster.group.version)
            cluster.settings |= numbers
        case "start", [name]:
            cluster.start(name)
        case "kill", [name]:
            cluster.kill(name)
        case "shut-down", [name]:
            cluster.shut_down(name)
        case "cut-off", [name]:
            cluster.cut_off(name)
        case "block-reading", [name]:
            cluster.topics.block_reading(name)
        case "unblock-reading", [name]:
            cluster.unblock_reading(name)
        case "create", [worker, name]:
            cluster.ask(worker, m.CreateConnector(name, {"connector.class": "Source", **options}))
        case "put", [worker, name]:
            cluster.ask(worker, m.PutConfig(name, {"connector.class": "Source", **options}))
        case "delete", [worker, name]:
            cluster.ask(worker, m.DeleteConnector(name))
        case "pause", [worker, name]:
            cluster.ask(worker, m.SetTargetState(name, "PAUSED"))
        case "resume", [worker, name]:
            cluster.ask(worker, m.SetTargetState(name, "STARTED"))
        case "stop", [worker, name]:
            cluster.ask(worker, m.StopConnector(name))
        case "restart", [worker, name]:
            wanted = {k: v == "true" for k, v in options.items()}
            cluster.ask(worker, m.RestartConnector(name, **wanted))
        case "restart-task", [worker, name, task]:
            cluster.ask(worker, m.RestartTask(name, int(task)))
        case "logger", [worker, name, level]:
            cluster.ask(worker, m.SetClusterLogger(name, level))
        case "unsigned-tasks", [worker, name]:
            cluster.ask(worker, m.PutTaskConfigs(name, (), m.Signature(b"[]", None, None)))
        case "unsigned-fence", [worker, name]:
            cluster.ask(worker, m.FenceTasks(name, m.Signature(b"", None, None)))
        case "status", [worker, name]:
            cluster.ask(worker, m.GetStatus(name))
        case "topics", [worker, name]:
            cluster.ask(worker, m.GetTopics(name))
        case "reset-topics", [worker, name]:
            cluster.ask(worker, m.ResetTopics(name))
        case "reset-offsets", [worker, name]:
            cluster.ask(worker, m.ResetOffsets(name))
        case "break", [name]:
            cluster.broken.add(name)
        case "mend", [name]:
            cluster.broken.discard(name)
        case "secret", [name, value]:
            cluster.secrets[name] = value
        case "fail", [name, task, why]:
            cluster.fail(TaskId(name, int(task)), why)
        case "lose", [name, task, *why]:
            cluster.lose(TaskId(name, int(task)), " ".join(why))
        case "spark-ended", [worker, query]:
            cluster.spark_ended(worker, [TaskId(query, 0)])
        case "die", [name, task, *why]:
            cluster.lose(TaskId(name, int(task)), " ".join(why), died=True)
        case "stall", [name, task, *why]:
            cluster.stall(TaskId(name, int(task)), " ".join(why) or None)
        case "health", [worker]:
            cluster.ask(worker, m.GetHealth())
        case "degrade", [name, task, *why]:
            cluster.degrade(TaskId(name, int(task)), " ".join(why) or None)
        case "use", [name, task, topic]:
            cluster.use_topic(TaskId(name, int(task)), topic)
        case "slow", [worker, name, task]:
            cluster.workers[worker].slow.add(TaskId(name, int(task)))
        case "end", [worker, name, task]:
            cluster.end(worker, TaskId(name, int(task)))
        case "delayed", [worker, name, *why]:
            cluster.delayed(worker, name, why[0] if why else None)
        case "time", [milliseconds]:
            cluster.pass_time(int(milliseconds))
        case _:
            raise ValueError(f"unknown command: {command}")
    return cluster
