"""Topics of Spark's own Kafka source and sink, ``format=kafka``: internal ones are refused, and match no pattern.

Their clients are Java's, in Spark's processes. Spark takes names of options in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from penstock.api.config import with_prefix
from penstock.api.errors import ConfigError
from penstock.connectors.spark.sink_settings import OPTION
from penstock.core.config.internal_topics import OF_KAFKA, InternalTopics
from penstock.core.config.permissions.topics import assigned_topics
from penstock.java.regex import compile_regex
from penstock.kafka.topic_guard import TopicGuard, guard_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CLIENT = "kafka."
_TOPIC = "topic"
_WILD = re.compile(r"(\[!?\]?[^\]]*\]|[*?])")
_REFUSED = "No connector may write to the internal topic ["


def is_kafka(format: str) -> bool:
    """Whether Spark takes this as the name of its Kafka source and sink."""
    name = format.strip().casefold()
    return name == "kafka" or "kafka010" in name


def refused_in(text: str) -> str | None:
    """Return the refusal of ``WrittenTopics.checked`` in the text of an error of Spark; None if there is none."""
    found = re.search(re.escape(_REFUSED) + r"[^\]\n]*\]", text)
    return found[0] if found else None


def guard_of_options(options: Mapping[str, str], internal: InternalTopics) -> TopicGuard:
    """Make the guard of the clients that Spark makes with these options of its Kafka source or sink.

    Raises ConfigError for an option that is given twice, of which Spark would take one.
    """
    client: dict[str, str] = {}
    for given, value in options.items():
        name = given.strip().casefold()
        if name.startswith(_CLIENT) and client.setdefault(name[len(_CLIENT) :], value) != value:
            raise ConfigError(f"option.{given}", value, "The option is given twice, with another value")
    return guard_of(internal, client)


def read_settings(config: Mapping[str, str], internal: InternalTopics) -> Mapping[str, str]:
    """Return the configuration with which SparkSource reads no internal topic; raises as ``read_options``."""
    if not is_kafka(config.get("format") or ""):
        return config
    given = with_prefix(config, OPTION)
    return {**config, **{f"{OPTION}{name}": value for name, value in read_options(given, internal).items()}}


def read_options(options: Mapping[str, str], internal: InternalTopics) -> dict[str, str]:
    """Return the options with which Spark's source reads no internal topic.

    Raises InternalTopicError for one that is named, ConfigError for a pattern that Java does not take, and
    RetriableError if no broker answers and it is not known whether a topic is internal.
    """
    guard = guard_of_options(options, internal)
    found = dict(options)
    for name, value in options.items():
        match name.strip().casefold():
            case "subscribe":
                guard.check_read({topic.strip() for topic in value.split(",")})
            case "assign":
                guard.check_read(assigned_topics(value))
            case "subscribepattern":
                found[name] = without(value, guard)
    return found


def without(pattern: str, guard: TopicGuard) -> str:
    """Return a pattern of Java that matches what this one does, but for internal topics of the guard's cluster."""
    internal = guard.internal
    if not internal.owners and not internal.denied and not internal.elsewhere:
        return pattern
    try:
        compile_regex(pattern)  # one that is not whole could end the group around it
    except ValueError as error:
        raise ConfigError("option.subscribePattern", pattern, f"Invalid regex: {error}") from error
    cluster = guard.cluster({pattern})
    names = [name for found, name in internal.elsewhere if found == cluster]
    if cluster == internal.cluster:
        names += internal.owners
    excluded = [re.escape(name) for name in sorted(names)]
    if cluster == internal.cluster:
        excluded += [_as_regex(each) for each in internal.denied]
    return f"(?!(?:{'|'.join(excluded)})\\z)(?:{pattern})" if excluded else pattern


def _as_regex(pattern: str) -> str:
    """Return a pattern of ``penstock.topics.denied``, as ``fnmatch`` takes it, as a regular expression of Java."""
    return "".join(map(_part_as_regex, _WILD.split(pattern)))


def _part_as_regex(part: str) -> str:
    if part in ("*", "?"):
        return {"*": ".*", "?": "."}[part]
    if not _WILD.fullmatch(part):
        return re.escape(part)
    negated = part.startswith("[!")
    listed = re.sub(r"[\\\[\]^&]", r"\\\g<0>", part[1 + negated : -1])
    return f"[^{listed}]" if negated else f"[{listed}]"


@dataclass(frozen=True, slots=True)
class WrittenTopics:
    """The topics that Spark's sink may not write to."""

    refused: tuple[str, ...]
    """Names on the cluster of the sink's producers."""
    denied: tuple[str, ...]
    """Regular expressions of further names."""

    @classmethod
    def of(cls, options: Mapping[str, str], internal: InternalTopics) -> Self:
        """Raises InternalTopicError if an option names an internal topic, RetriableError if no broker answers."""
        guard = guard_of_options(options, internal)
        for name, value in options.items():
            if name.strip().casefold() == _TOPIC:
                guard.check_written({value.strip()})
        if not internal.owners and not internal.denied and not internal.elsewhere:
            return cls(tuple(sorted(OF_KAFKA)), ())
        cluster = guard.cluster({_TOPIC})
        here = cluster == internal.cluster
        names = {*OF_KAFKA, *(name for found, name in internal.elsewhere if found == cluster)}
        names |= set(internal.owners) if here else set()
        return cls(tuple(sorted(names)), tuple(map(_as_regex, internal.denied)) if here else ())

    def checked(self, frame: DataFrame) -> DataFrame:
        """Return rows whose column ``topic`` Spark checks; a row for an internal topic fails the batch."""
        from pyspark.sql import functions as f

        found = next((name for name in frame.columns if name.casefold() == _TOPIC), None)
        if found is None:
            return frame
        topic = f.trim(f.col(f"`{found}`").cast("string"))
        wrong = topic.isin(*self.refused)
        for each in self.denied:
            wrong = wrong | topic.rlike(f"^(?:{each})$")
        problem = f.concat(f.lit(_REFUSED), topic, f.lit("]"))
        return frame.withColumn(
            found, f.when(wrong, f.raise_error(problem).cast("string")).otherwise(f.col(f"`{found}`"))
        )
