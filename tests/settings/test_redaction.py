"""No log line, trace, status or metric contains a secret that the worker knows."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import pytest

from penstock import observe
from penstock.core.model.events import Completed, ConnectorChange, ConnectorFailed, ConnectorRunning
from penstock.core.model.tasks import (
    OffsetsReported,
    SparkDied,
    TaskChange,
    TaskEvent,
    TaskFailed,
    TaskId,
    TaskMetrics,
    TaskReport,
    TaskRunning,
    TopicSeen,
)
from penstock.settings.providers import ConfigTransformer, FileConfigProvider
from penstock.settings.redaction import MAX_LINES, MAX_REMEMBERED, UNCLEANED, Redaction

CANARY = "canary-7f3a"


def learned() -> Redaction:
    redaction = Redaction()
    redaction.learn(
        {"connection.password": CANARY, "topic": "orders", "pin.secret": "12", "other.password": CANARY[:6]}
    )
    return redaction


def test_texts() -> None:
    clean = learned().clean
    assert clean(f"can't log in with {CANARY} to orders 12") == "can't log in with [hidden] to orders 12"


def test_settings_of_type_password_whatever_their_names() -> None:
    redaction = Redaction()
    redaction.learn({"licence": CANARY, "topic": "orders"}, {"licence"})
    assert redaction.clean(f"{CANARY} of orders") == "[hidden] of orders"


def test_events() -> None:
    redaction = learned()
    failed = TaskFailed(TaskId("x", 0), 1, f"java.sql.SQLException: {CANARY}\n\tat x")
    assert redaction.clean_event(failed).trace == "java.sql.SQLException: [hidden]\n\tat x"
    metrics = TaskMetrics(TaskId("x", 0), 1, {"a": 1.0, "penstock-last-error": CANARY})
    assert redaction.clean_event(metrics).values == {"a": 1.0, "penstock-last-error": "[hidden]"}
    retrying = TaskRunning(TaskId("x", 0), 1, f"{CANARY} is refused. Retrying")
    assert redaction.clean_event(retrying).degraded_reason == "[hidden] is refused. Retrying"
    plain = TaskFailed(TaskId("x", 0), 1, "nothing of it")
    assert redaction.clean_event(plain) is plain


@dataclass(frozen=True)
class Invented(TaskEvent):
    """An event that does not exist yet."""

    remark: str
    details: dict[str, list[str]]


def test_events_are_cleaned_but_for_names_and_data() -> None:
    clean, id = learned().clean_event, TaskId(CANARY, 0)
    metrics = TaskMetrics(id, 1, {"penstock-plugins": [{"name": CANARY, "help": f"of {CANARY}"}], "n": 1})
    assert clean(metrics).values == {"penstock-plugins": [{"name": CANARY, "help": "of [hidden]"}], "n": 1}
    invented = Invented(id, 1, CANARY, {"a": [CANARY]})
    assert clean(invented) == Invented(id, 1, "[hidden]", {"a": ["[hidden]"]})
    unchanged = (
        TopicSeen(id, 1, CANARY),
        OffsetsReported(id, 1, (({"file": CANARY}, {"position": 1}),)),
        ConnectorRunning(CANARY, 1, "1"),
        Completed(1, [{"password": CANARY}]),
    )
    assert [clean(event) for event in unchanged] == [*unchanged]
    assert clean(ConnectorFailed(CANARY, 1, CANARY)) == ConnectorFailed(CANARY, 1, "[hidden]")
    assert clean(SparkDied(CANARY)) == SparkDied("[hidden]")


@pytest.mark.parametrize("kind", [*get_args(TaskChange | TaskReport | ConnectorChange), SparkDied])
def test_every_text_of_every_event_is_cleaned_unless_it_is_declared(kind: Any) -> None:
    """The events are those of connectors, tasks and Spark, which contain texts of plugins and drivers."""
    given: dict[str, Any] = {"id": TaskId("c", 0), "run": 1, "name": "c", "offsets": (), "values": {"text": CANARY}}
    texts = {each.name for each in fields(kind) if each.type in ("str", "str | None")} - given.keys()
    given = {each.name: given.get(each.name, CANARY) for each in fields(kind) if each.type != "bool"}
    found = learned().clean_event(kind(**given))
    kept = {name for base, names in UNCLEANED.items() if issubclass(kind, base) for name in names}
    assert {name for name in texts if CANARY in getattr(found, name)} == texts & kept
    assert CANARY not in str(getattr(found, "values", ""))


def test_log_lines() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 1, "a %s", (CANARY,), None)
    try:
        raise ValueError(CANARY)
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    observe.redact_by(learned().clean)
    try:
        text, line = observe.TextLines().format(record), json.loads(observe.JsonLines().format(record))
    finally:
        observe.redact_by(lambda each: each)
    assert CANARY not in text + json.dumps(line)
    assert "a [hidden]" in text
    assert line["message"] == "a [hidden]"


def test_only_the_beginning_of_a_long_log_line_is_searched_and_shown() -> None:
    searched: list[int] = []

    def clean(text: str) -> str:
        searched.append(len(text))
        return learned().clean(text)

    long = CANARY + "x" * (observe.MAX_LINE_LENGTH - len(CANARY) - 5) + CANARY + "y" * 8 * 2**20
    record = logging.LogRecord("x", logging.ERROR, "", 1, long, None, None)
    observe.redact_by(clean)
    try:
        shown = observe.TextLines().format(record), observe.JsonLines().format(record)
    finally:
        observe.redact_by(lambda each: each)
    assert max(searched) <= observe.MAX_LINE_LENGTH + observe.MAX_SECRET_LENGTH
    for text in shown:
        assert "[hidden]xxx" in text
        assert CANARY[:5] not in text
        assert f"{len(long) // 10**4}" in text
        assert len(text) < observe.MAX_LINE_LENGTH + 1000


def test_values_of_config_providers(tmp_path: Path) -> None:
    """They are hidden whatever their setting is called, except short ones, which also occur in other texts."""
    file = tmp_path / "secrets.properties"
    file.write_text(f"user={CANARY}\nkind=csv\nunused=canary-unused\n")
    redaction = Redaction()
    worker = {"config.providers": "file", "config.providers.file.class": "FileConfigProvider"}
    providers = ConfigTransformer.of(worker, lambda kind, name: FileConfigProvider, redaction.learn_references)
    url = f"jdbc:x://${{file:{file}:user}}@host/${{file:{file}:kind}}"
    assert providers.transform({"url": url}) == {"url": f"jdbc:x://{CANARY}@host/csv"}
    said = redaction.clean(f"{CANARY} of a csv, canary-unused")
    assert said == "[hidden] of a csv, canary-unused"


def test_secrets_in_json_and_in_urls() -> None:
    config = {
        "host": "shop-db",
        "url": "postgres://u:S3cret%21@db",
        "oauth": {"client_secret": 'c-"7', "token_type": "Bearer"},
        "account": json.dumps({"private_key": "p-\n-q"}),
    }
    redaction = Redaction()
    redaction.learn({"singer.config": json.dumps(config)})
    said = redaction.clean('postgres://u:S3cret%21@db S3cret! shop-db c-"7 c-\\"7 p-\\n-q Bearer')
    assert said == "postgres://u:[hidden]@db [hidden] shop-db [hidden] [hidden] [hidden] Bearer"


def test_secrets_in_json_of_a_config_provider() -> None:
    redaction = Redaction()
    redaction.learn_references([json.dumps({"password": CANARY, "to": "elsewhere"})])
    assert redaction.clean(f"{CANARY} elsewhere") == "[hidden] elsewhere"


def test_secrets_of_files_that_end_with_a_line_end() -> None:
    """Settings are read without surrounding blanks, so drivers get, and report, the rest."""
    redaction = Redaction()
    redaction.learn({"connection.password": f" {CANARY}\n"})
    redaction.learn_references(["canary-of-file\n"])
    assert redaction.clean(f"{CANARY}, canary-of-file") == "[hidden], [hidden]"


def test_secrets_in_logins_and_users() -> None:
    redaction = Redaction()
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="orders" password="{CANARY}";'
    user_info = {"value.converter.basic.auth.user.info": "reader:canary-of-registry"}
    redaction.learn({"consumer.override.sasl.jaas.config": jaas, **user_info})
    said = redaction.clean(f"{CANARY}, canary-of-registry, orders, reader")
    assert said == "[hidden], [hidden], orders, reader"


def test_secrets_escaped_as_in_urls() -> None:
    """A driver may put a password into a URL, and report the URL."""
    redaction = Redaction()
    redaction.learn({"connection.password": "p@ss/w (rd)!"})
    redaction.learn_references(["user&name=x"])
    texts = ("p%40ss%2Fw%20%28rd%29%21", "p%40ss%2Fw%20(rd)!", "p%40ss%2Fw+%28rd%29%21", "user%26name%3Dx")
    assert [redaction.clean(f"x://u:{each}@db") for each in texts] == ["x://u:[hidden]@db"] * 4


def test_many_secrets_do_not_displace_the_workers_own_and_recent_ones() -> None:
    """The worker's own secrets and those of a recently started connector stay known."""
    redaction = Redaction()
    redaction.learn_own({"sasl.password": "canary-of-worker"})
    redaction.learn({"database.password": "canary-of-old-one"})
    redaction.learn({"database.password": CANARY})
    redaction.learn_references([f"token-{number:06}" for number in range(MAX_REMEMBERED - 2)])
    redaction.learn({"database.password": CANARY})
    redaction.learn_references(["token-of-today"] * 2 + ["token-of-tonight"])
    said = redaction.clean(f"canary-of-worker {CANARY} token-of-today token-of-tonight canary-of-old-one")
    assert said == "[hidden] [hidden] [hidden] [hidden] canary-of-old-one"


WEAK = """
io.debezium.connector.postgresql.PostgresConnector
io.debezium.connector.postgres.PostgresConnector
/var/lib/postgres/data and /usr/lib/postgresql/15
C:\\postgres\\bin
postgres://host/x and jdbc:postgresql://host/x
org.postgres$Inner
my_postgres, postgres_1, postgres-operator
postgres=1
"""


@pytest.mark.security
def test_a_weak_password_is_not_given_away_by_names() -> None:
    redaction = Redaction()
    redaction.learn({"database.password": "postgres", "other.password": "org.apache.kafka.connect"})
    for text in WEAK.strip().split("\n"):
        assert redaction.clean(text) == text
    assert redaction.clean("at org.apache.kafka.connect.runtime.Worker.run") == (
        "at org.apache.kafka.connect.runtime.Worker.run"
    )
    for text in (
        "log in with postgres.",
        "('postgres')",
        "user:postgres@host",
        "postgres",
        "x%20postgres",
        "\\npostgres;",
    ):
        assert redaction.clean(text) == text.replace("postgres", "[hidden]")


@pytest.mark.security
def test_values_are_hidden_as_whole_tokens() -> None:
    redaction = Redaction()
    redaction.learn({"password": "s3cret!", "other.password": "kafka1"})
    assert redaction.clean("kafka10 xkafka1 kafka1") == "kafka10 xkafka1 [hidden]"
    assert redaction.clean("s3cret!x (s3cret!)") == "[hidden]x ([hidden])"


@pytest.mark.security
def test_values_that_nobody_writes_by_chance_are_hidden_in_other_words() -> None:
    redaction = Redaction()
    redaction.learn({"password": "Zq8vT2xk9", "token": "correct-horse-battery-staple-7"})
    assert redaction.clean("xZq8vT2xk9y correct-horse-battery-staple-7x") == "x[hidden]y [hidden]x"


@pytest.mark.security
def test_names_of_loggers_and_threads_stay() -> None:
    record = logging.LogRecord("penstock.worker", logging.ERROR, "", 1, "worker worker", None, None)
    record.threadName = "worker"
    redaction = Redaction()
    redaction.learn({"password": "worker"})
    observe.redact_by(redaction.clean)
    try:
        text, line = observe.TextLines().format(record), json.loads(observe.JsonLines().format(record))
    finally:
        observe.redact_by(lambda each: each)
    assert text.endswith(" [hidden] [hidden] (penstock.worker) [worker]")
    assert (line["logger"], line["message"]) == ("penstock.worker", "[hidden] [hidden]")


@pytest.mark.security
def test_secrets_that_nobody_has_learned_are_hidden_by_their_look() -> None:
    clean = Redaction().clean
    assert clean("Password = x;") == "Password = [hidden];"
    assert clean("GET /x Authorization: Bearer abc") == "GET /x Authorization: Bearer [hidden]"
    assert clean("Connector orders: 3 records") == "Connector orders: 3 records"


@pytest.mark.security
def test_secrets_in_values_of_any_setting_are_learned() -> None:
    redaction = Redaction()
    redaction.learn(
        {"http.headers": "Authorization: Bearer canary-of-header, Accept: x", "dsn": "https://canary0token@host/1"}
    )
    assert redaction.clean("it said canary0token") == "it said [hidden]"
    redaction.learn({"registry.url": "https://admin@registry"})
    assert redaction.clean("admin of https://admin@registry") == "admin of https://[hidden]@registry"
    assert "canary-of-header" not in redaction.clean("Bearer canary-of-header, Accept: x was refused")


@pytest.mark.security
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n"])
def test_each_line_of_a_secret_of_several_lines_is_hidden_where_it_is_alone(end: str) -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3S"]
    redaction = Redaction()
    redaction.learn(
        {"ssl.keystore.key": end.join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])}
    )
    for line in lines:
        assert redaction.clean(f"  {line}") == "  [hidden]"


@pytest.mark.security
def test_lines_of_a_login_are_hidden_only_where_they_are_secret() -> None:
    redaction = Redaction()
    redaction.learn({"sasl.jaas.config": 'x.PlainLoginModule required\n username="u"\n password="canary-7";'})
    assert redaction.clean("x.PlainLoginModule got canary-7") == "x.PlainLoginModule got [hidden]"


@pytest.mark.security
def test_lines_of_keys_displace_no_password() -> None:
    redaction = Redaction()
    redaction.learn({"password": "canary-of-old"})
    for number in range(120):
        redaction.learn({"ssl.keystore.key": "\n".join(f"{number:04}{line:04}key8abc9" for line in range(100))})
    assert redaction.clean("canary-of-old, 01190099key8abc9") == "[hidden], [hidden]"
    assert len(redaction._lines) == MAX_LINES
