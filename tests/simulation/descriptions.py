"""Assignments, statuses and answers as text, for the traces of scenarios."""

from __future__ import annotations

from penstock.core.group.membership import Assignment
from penstock.core.model import messages as m
from penstock.core.model.records import ConnectorStatus, StatusTopicRecord, TaskStatus, TopicStatus


def work(assignment: Assignment) -> str:
    return ", ".join([*assignment.connectors, *map(str, assignment.tasks)]) or "nothing"


def status(record: StatusTopicRecord) -> str:
    match record:
        case ConnectorStatus(name, state, worker, _, trace):
            return f"connector {name} {_state(state, worker, trace)}"
        case TaskStatus(id, state, worker, _, trace):
            return f"task {id} {_state(state, worker, trace)}"
        case TopicStatus(topic, connector, task):
            return f"topic {topic} of {connector} " + ("no longer active" if task is None else f"active by task {task}")


def _state(state: str | None, worker: str, trace: str | None) -> str:
    if state is None:
        return "gone"
    return f"{state} on {worker}" + (f": {trace.rstrip()}" if trace else "")


def reply(answer: m.Reply | m.Elsewhere) -> str:
    if isinstance(answer, m.Elsewhere):
        return f"elsewhere: {answer.url}"
    body = answer.body
    if isinstance(body, dict) and "connector" in body and "tasks" in body:
        tasks = ", ".join(f"{t['id']} {t['state']} on {t['worker_id']}" for t in body["tasks"])
        return f"{answer.status} connector {body['connector']['state']}; tasks {tasks or 'none'}"
    return f"{answer.status}" + ("" if body is None else f" {body}")
