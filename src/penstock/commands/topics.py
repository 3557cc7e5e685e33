"""``penstock topics``: show the active topics of a connector (KIP-558), and how it creates new ones (KIP-158)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from penstock.commands._output import As, OutputFormat, printed, say, say_lines
from penstock.commands._rest import URL, Name, Url, User, client

if TYPE_CHECKING:
    from penstock.core.topic_creation.rules import NewTopicSpec

BROKER_DEFAULT = -1


class OrShow(TyperGroup):
    """``topics CONNECTOR`` is ``topics show CONNECTOR``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=OrShow,
    no_args_is_help=True,
    help="Show or reset the active topics of a connector (topics CONNECTOR), or explain how it creates new ones.",
)


@app.command()
def show(
    connector: Name,
    reset: Annotated[bool, typer.Option("--reset", help="Reset them; those in use appear again.")] = False,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show the topics that the connector has used since it was created or its topics were reset."""
    with client(url, user) as worker:
        if reset:
            worker.reset_topics(connector)
            say(f"Reset the topics of connector {connector}.")
            return
        worker.connector(connector)  # a connector that does not exist has no topics, without an error
        found = worker.topics(connector)
    if printed(output, {connector: {"topics": found}}, sorted(found)):
        return
    if found:
        say_lines(sorted(found))
    else:
        say(f"Connector {connector} has used no topic.")


@app.command()
def explain(
    connector: Name,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Name of a topic, after the connector's transforms.")],
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Explain which topic.creation group of a source connector applies to a new topic, and with which settings."""
    with client(url, user) as worker:
        info = worker.connector(connector)
    if info["type"] == "sink":
        say(f"Connector {connector} is a sink: it reads topics and creates none.")
        return
    from penstock.api.errors import ConfigError
    from penstock.core.topic_creation.groups import TopicCreation
    from penstock.java.errors import PatternError
    from penstock.java.regex import compile_regex

    try:
        rules = TopicCreation.from_config(info["config"], compile_regex)
    except PatternError as error:
        raise ConfigError(f"Patterns of connector {connector} are no regular expression together: {error}") from error
    spec = rules.spec_for(topic)
    document = {"topic": topic, "rule": None} if spec is None else _document(spec)
    if printed(output, document, [] if spec is None else [spec.rule_name]):
        return
    if spec is not None:
        say(f"Topic {topic} matches {_rule(info['config'], spec.rule_name)}.")
        say(f"It is created with {_created(spec)}, unless it exists or the task decides otherwise.")
    elif rules.rules:
        say(f"No rule of connector {connector} matches topic {topic}: its creation is left to the broker.")
    else:
        say(f"Connector {connector} has no rules for new topics: the creation of {topic} is left to the broker.")


def _rule(config: dict[str, str], name: str) -> str:
    draft = "topic.creation" in config
    if name == "default" and not draft:
        return "rule default, as every topic does that matches no other"
    key = f"topic.creation.{name}.{'regex' if draft else 'include'}"
    return f"rule {name} ({key}={config[key]})"


def _created(spec: NewTopicSpec) -> str:
    partitions, copies = spec.partitions, spec.replication_factor
    said = [
        "the broker's default number of partitions"
        if partitions == BROKER_DEFAULT
        else f"{partitions} partition{'s' * (partitions > 1)}",
        "the broker's default replication factor" if copies == BROKER_DEFAULT else f"replication factor {copies}",
    ]
    return ", ".join([*said, *(f"{key}={value}" for key, value in sorted(spec.configs.items()))])


def _document(spec: NewTopicSpec) -> dict[str, Any]:
    return {
        "topic": spec.name,
        "rule": spec.rule_name,
        "partitions": spec.partitions,
        "replication.factor": spec.replication_factor,
        "configs": spec.configs,
    }
