"""A record as Java prints it in a message: ``SinkRecord{kafkaOffset=…} ConnectRecord{topic='…', …}``."""

from __future__ import annotations

from penstock.api.record import Record, SinkRecord, SourceRecord
from penstock.api.schema import Schema
from penstock.pipeline.transforms.structs import schema_text
from penstock.values.printing import to_string


def record_text(record: Record) -> str:
    parts = {
        "topic": f"'{record.topic}'",
        "kafkaPartition": _text(record.partition),
        "key": to_string(record.key_schema, record.key),
        "keySchema": _schema(record.key_schema),
        "value": to_string(record.value_schema, record.value),
        "valueSchema": _schema(record.value_schema),
        "timestamp": _text(record.timestamp),
        "headers": _headers(record),
    }
    return f"{_origin(record)}ConnectRecord{{{', '.join(f'{name}={text}' for name, text in parts.items())}}}"


def _text(value: int | None) -> str:
    return "null" if value is None else str(value)


def _schema(schema: Schema | None) -> str:
    return "null" if schema is None else schema_text(schema)


def _headers(record: Record) -> str:
    shown = [
        f"ConnectHeader(key={h.key}, value={to_string(h.schema, h.value)}, schema={_schema(h.schema)})"
        for h in record.headers
    ]
    return f"ConnectHeaders(headers={'[' + ', '.join(shown) + ']' if shown else ''})"


def _origin(record: Record) -> str:
    match record:
        case SourceRecord(source_partition=partition, source_offset=offset):
            return (
                f"SourceRecord{{sourcePartition={to_string(None, partition)}, sourceOffset={to_string(None, offset)}}} "
            )
        case SinkRecord():
            return (
                f"SinkRecord{{kafkaOffset={record.offset}, timestampType={record.timestamp_type}, "
                f"originalTopic={record.original_topic}, originalKafkaPartition={record.original_partition}, "
                f"originalKafkaOffset={record.original_offset}}} "
            )
    return ""
