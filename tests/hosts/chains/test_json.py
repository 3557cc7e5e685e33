"""Kafka's JsonConverter, which writes without a tree for records in the JVM, writes what Kafka's own writes."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from hosts.chains.running import Result, run
from hosts.test_codec import batches
from penstock.api.batch import Batch
from penstock.api.schema import STRING, struct
from penstock.hosts.jvm.tasks.remote_batch import remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from support.tasks.runs import JSON


@given(
    batch=batches(),
    schemas=st.sampled_from(["true", "false"]),
    decimals=st.sampled_from(["BASE64", "numeric"]),
    defaults=st.sampled_from(["true", "false"]),
)
def test_json_written_without_a_tree_is_kafkas(
    jvm: TaskJvm, batch: Batch, schemas: str, decimals: str, defaults: str
) -> None:
    """The other one is a class of a jar that inherits all of Kafka's."""
    settings = {"schemas.enable": schemas, "decimal.format": decimals, "replace.null.with.default": defaults}

    def written(converter: str) -> Result:
        config = {"key.converter": converter, "value.converter": converter}
        config |= {f"{part}.converter.{name}": value for part in ("key", "value") for name, value in settings.items()}
        return run(config, batch, lambda each: remote(jvm, each))

    kafkas = written("penstock.tests.chain.KafkasJson")
    event(kafkas if isinstance(kafkas, str) else "bytes")
    assert written(JSON) == kafkas


def test_texts_and_names_that_json_escapes_are_written_as_kafka_writes_them(jvm: TaskJvm) -> None:
    texts = ['"', "\\", "\n\x01\x7f", "\u2028", "ä", "𝄞"]
    schema = struct(*((text, STRING.with_(doc=text)) for text in texts))
    batch = Batch.of("t", [dict(zip(texts, texts, strict=True))], value_schema=schema, key_schema=STRING, keys=["𝄞"])
    results = [
        run({"key.converter": each, "value.converter": each}, batch, lambda sent: remote(jvm, sent))
        for each in (JSON, "penstock.tests.chain.KafkasJson")
    ]
    assert results[0] == results[1]
    assert isinstance(results[0], tuple)
