"""Files of Protobuf: texts parsed by Google's own compiler, files that everybody knows, and pools of descriptors."""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import io
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.api.errors import DataError
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.protobuf.options import META

_KNOWN = (
    "google.protobuf.any_pb2", "google.protobuf.duration_pb2", "google.protobuf.empty_pb2",
    "google.protobuf.field_mask_pb2", "google.protobuf.struct_pb2", "google.protobuf.timestamp_pb2",
    "google.protobuf.wrappers_pb2", "google.protobuf.descriptor_pb2", "google.type.date_pb2",
    "google.type.timeofday_pb2", "google.type.datetime_pb2", "google.type.money_pb2", "google.type.latlng_pb2",
    "confluent_kafka.schema_registry.confluent.meta_pb2", "confluent_kafka.schema_registry.confluent.type.decimal_pb2",
)  # fmt: skip
MAIN = "default.proto"
WRAPPERS = "google/protobuf/wrappers.proto"


_compiling = threading.Lock()
"""Held while standard error, which the process has once, is the compiler's."""


@functools.cache
def known_files() -> Mapping[str, Any]:
    """The files that schemas may import without a reference, by name: ``FileDescriptorProto``s."""
    descriptor = load("google.protobuf.descriptor_pb2", "protobuf")
    known = (load(module, "protobuf").DESCRIPTOR.serialized_pb for module in _KNOWN)
    return {file.name: file for file in map(descriptor.FileDescriptorProto.FromString, known)}


def wrappers() -> Any:
    """The file of the messages for primitives, with the names in JSON that Java's has."""
    file = load("google.protobuf.descriptor_pb2", "protobuf").FileDescriptorProto()
    file.CopyFrom(known_files()[WRAPPERS])
    for message in file.message_type:
        for field in message.field:
            field.json_name = field.name
    return file


def parse(text: str, references: Mapping[str, str]) -> list[Any]:
    """The file of a schema and, before it, those it needs: ``FileDescriptorProto``s.

    ``references`` has the schemas that it imports, by the names of the imports. A schema may be a text, or a serialized
    descriptor in base 64. Raises DataError.
    """
    texts = {**references, MAIN: text}
    serialized = {name: found for name, one in texts.items() if (found := _serialized(name, one)) is not None}
    compiled = _compiled({name: one for name, one in texts.items() if name not in serialized}, serialized)
    files = {**known_files(), **compiled, **serialized}
    ordered: dict[str, Any] = {}
    _add(MAIN, files, ordered)
    return list(ordered.values())


def _add(name: str, files: Mapping[str, Any], ordered: dict[str, Any]) -> None:
    if name in ordered:
        return
    if name not in files:
        raise DataError(f"The Protobuf schema imports {name}, which is none of its references")
    for dependency in files[name].dependency:
        _add(dependency, files, ordered)
    ordered[name] = files[name]


def _serialized(name: str, text: str) -> Any | None:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    descriptor = load("google.protobuf.descriptor_pb2", "protobuf")
    file = descriptor.FileDescriptorProto.FromString(data)
    file.name = name
    return file


def _compiled(texts: Mapping[str, str], serialized: Mapping[str, Any]) -> dict[str, Any]:
    """Compile schema texts. The compiler works on files, so they are written to a temporary folder."""
    if not texts:
        return {}
    descriptor = load("google.protobuf.descriptor_pb2", "protobuf")
    protoc = load("grpc_tools.protoc", "protobuf")
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as scratch:
        folder = Path(scratch)
        for name, text in texts.items():
            file = folder / name
            if not file.resolve().is_relative_to(folder.resolve()):
                raise DataError(f"A Protobuf schema can't be imported as {name}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_with_meta(text), "utf-8")
        others = [file for name, file in {**known_files(), **serialized}.items() if name not in texts]
        known = folder / ".known"
        known.write_bytes(descriptor.FileDescriptorSet(file=others).SerializeToString())
        made = folder / ".made"
        arguments = ["protoc", f"-I{folder}", f"--descriptor_set_in={known}", f"--descriptor_set_out={made}", *texts]
        said: list[str] = []
        with _standard_error(said):
            status = protoc.main(arguments)
        if status:
            words = " ".join(said).replace(f"{folder}/", "").strip()
            raise DataError(f"This is no Protobuf schema: {words}")
        found = descriptor.FileDescriptorSet.FromString(made.read_bytes())
    return {file.name: file for file in found.file}


def _with_meta(text: str) -> str:
    """Texts of Java's converter use Confluent's options without the import that the compiler insists on."""
    return f'{text}\nimport "{META}";\n' if "(confluent." in text and f'"{META}"' not in text else text


@contextlib.contextmanager
def _standard_error(said: list[str]) -> Iterator[None]:
    """Capture the output of the compiler, which is C++, on standard error."""
    with _compiling, tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            said.append(io.TextIOWrapper(file, "utf-8", "replace").read())


def pool_of(files: list[Any]) -> Any:
    """A pool with these files. Raises DataError if they contradict each other."""
    pool = load("google.protobuf.descriptor_pool", "protobuf").DescriptorPool()
    try:
        for file in files:
            pool.Add(file)
        pool.FindFileByName(files[-1].name)
    except (TypeError, KeyError) as error:
        raise DataError(f"Invalid protobuf schema definition: {error}") from error
    return pool


def message_at(file: Any, indexes: tuple[int, ...]) -> Any:
    """The descriptor of the message that the indexes of a frame lead to. Raises DataError."""
    proto = load("google.protobuf.descriptor_pb2", "protobuf").FileDescriptorProto()
    file.CopyToProto(proto)
    protos, types, found = proto.message_type, file.message_types_by_name, None
    for index in indexes:
        if not 0 <= index < len(protos):
            raise DataError(f"The Protobuf schema has no message {list(indexes)}")
        found = types[protos[index].name]
        protos, types = protos[index].nested_type, found.nested_types_by_name
    if found is None:
        raise DataError("The Protobuf schema has no message")
    return found


def field_proto(field: Any) -> Any:
    """The ``FieldDescriptorProto`` of a field, with its options."""
    message = load("google.protobuf.descriptor_pb2", "protobuf").DescriptorProto()
    field.containing_type.CopyToProto(message)
    return next(proto for proto in message.field if proto.name == field.name)
