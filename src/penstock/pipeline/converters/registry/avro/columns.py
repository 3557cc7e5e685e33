"""Records of plain fields from Avro's bytes to columns, by one function that is generated once per schema.

It is twice as fast as fastavro, which makes a ``dict`` of each record. It serves records whose fields are numbers,
booleans, texts, bytes, enums and fixed, or those or null; and it only has to be right about bytes that are well formed:
at anything else it raises, and the messages are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.avro.fastavro_schema import is_nullable, other_branch
from penstock.pipeline.converters.registry.avro.model import AvroType

Change = Callable[[Any], Any]
Columns = Callable[[Sequence[bytes], int], "list[list[Any]]"]

_NUMBER = """\
n = d[p]; p += 1
if n > 127:
    n &= 127
    shift = 7
    while shift < 70:
        b = d[p]; p += 1
        n |= (b & 127) << shift
        if b < 128: break
        shift += 7
    else: raise ValueError("a number without an end")
    if n >> {bits}: raise ValueError("a number of more than {bits} bits")
"""
_LENGTH = _NUMBER.format(bits=32) + 'if n & 1: raise ValueError("a negative length")\nn >>= 1\ne = p + n\n'
_BITS = {"int": 32, "long": 64}
_MOST_FIELDS = 200


def table_reader(
    avro: AvroType, schema: Schema, changes: Sequence[Change | None], to_the_end: bool
) -> Callable[[Sequence[bytes], int], Table] | None:
    """A function that reads messages of this record as a table; None if it has other fields.

    ``changes`` make Connect's values of those read, None being one that a field does not need. The function raises an
    exception if a message must be read by itself.
    """
    columns = _compiled(avro, to_the_end)
    if columns is None:
        return None
    names = [field.name for field in schema.fields]

    def read(messages: Sequence[bytes], start: int) -> Table:
        found = columns(messages, start)
        return Table(names, [
            column if change is None else list(map(change, column))
            for column, change in zip(found, changes, strict=True)
        ])  # fmt: skip

    return read


def _compiled(avro: AvroType, to_the_end: bool) -> Columns | None:
    if avro.kind != "record" or not 0 < len(avro.fields) <= _MOST_FIELDS:
        return None
    names: dict[str, Any] = {"double": Struct("<d").unpack_from, "float": Struct("<f").unpack_from}
    body = []
    for i, field in enumerate(avro.fields):
        code = _field(field.type, i, names)
        if code is None:
            return None
        body.append(f"{code}add{i}(v)\n")
    indices = range(len(avro.fields))
    lines = ["def columns(messages, start):"]
    lines += [f"    c{i} = []; add{i} = c{i}.append" for i in indices]
    lines += ["    for d in messages:", "        p = start", _indented("".join(body), 8)]
    lines.append(f'        if p {"!=" if to_the_end else ">"} len(d): raise ValueError("another length")')
    lines.append(f"    return [{', '.join(f'c{i}' for i in indices)}]")
    exec("\n".join(lines), names)
    columns: Columns = names["columns"]
    return columns


def _field(avro: AvroType, index: int, names: dict[str, Any]) -> str | None:
    """Code that puts the value of a field into ``v``."""
    if avro.kind != "union":
        return _value(avro, index, names)
    if not is_nullable(avro):
        return None
    other = other_branch(avro)
    code = _value(avro.branches[other], index, names)
    if code is None:
        return None
    # A branch is a varint, of which a nullable type has two.
    return (
        f"n = d[p]; p += 1\nif n == {2 * other}:\n{_indented(code, 4)}elif n == {2 * (1 - other)}: v = None\n"
        'else: raise ValueError("no such branch")\n'
    )


def _value(avro: AvroType, index: int, names: dict[str, Any]) -> str | None:
    match avro.kind:
        case "int" | "long":
            return _NUMBER.format(bits=_BITS[avro.kind]) + "v = n >> 1 ^ -(n & 1)\n"
        case "string":
            return _LENGTH + 'v = str(d[p:e], "utf-8"); p = e\n'
        case "bytes":
            return _LENGTH + "v = d[p:e]; p = e\n"
        case "boolean":
            return 'v = d[p]; p += 1\nif v > 1: raise ValueError("no boolean")\nv = v == 1\n'
        case "double" | "float":
            return f"v = {avro.kind}(d, p)[0]; p += {8 if avro.kind == 'double' else 4}\n"
        case "fixed":
            return f"v = d[p:p + {avro.size}]; p += {avro.size}\n"
        case "enum":
            names[f"symbols{index}"] = tuple(avro.symbols)
            number = _NUMBER.format(bits=32) + 'if n & 1: raise ValueError("no symbol")\n'
            return number + f"v = symbols{index}[n >> 1]\n"
    return None


def _indented(code: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in code.splitlines())
