"""``io.confluent.connect.protobuf.ProtobufConverter``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType
from penstock.api.errors import DataError, SerializationError
from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters.coercion import define_coercion, is_java
from penstock.pipeline.converters.registry.access.client import SchemaText
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.format import FormatReader, FormatWriter, RegisteredSchema, WriterSchema
from penstock.pipeline.converters.registry.mapping.names import split
from penstock.pipeline.converters.registry.protobuf.compatibility import conflicts
from penstock.pipeline.converters.registry.protobuf.files import MAIN, known_files, message_at, parse, pool_of, wrappers
from penstock.pipeline.converters.registry.protobuf.indexes import read_indexes, write_indexes
from penstock.pipeline.converters.registry.protobuf.options import ProtobufOptions
from penstock.pipeline.converters.registry.protobuf.reader import MessageReaders
from penstock.pipeline.converters.registry.protobuf.text import show
from penstock.pipeline.converters.registry.protobuf.to_connect import MessageSchemas
from penstock.pipeline.converters.registry.protobuf.to_protobuf import to_protobuf, wrapper_of
from penstock.pipeline.converters.registry.protobuf.writer import ProtobufWriter
from penstock.pipeline.converters.registry.settings import define_flag, refuse, registry_settings
from penstock.pipeline.converters.registry.wire import SchemaId

_NO_CLASSES = "Java's classes for Protobuf are not used here; leave this setting out"
_FLAGS = (
    ("enhanced.protobuf.schema.support", False, "Whether names have their packages."),
    ("scrub.invalid.names", False, "Whether characters that Protobuf does not allow are replaced."),
    ("int.for.enums", False, "Whether enums are integers."),
    ("optional.for.nullables", False, "Whether optional fields are `optional`, so that nulls are kept."),
    ("optional.for.proto2", True, "Whether `optional` of proto2 means that a field may be null."),
    ("wrapper.for.nullables", False, "Whether optional fields are wrapper messages, so that nulls are kept."),
    ("wrapper.for.raw.primitives", True, "Whether a wrapper message at the top is the primitive in it."),
    ("generate.struct.for.nulls", False, "Whether a message that is missing is a struct with defaults."),
    ("generate.index.for.unions", True, "Whether names of unions end in the number of their oneof."),
    ("flatten.unions", False, "Whether members of a oneof are fields of the struct around it."),
)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of a pool, and where in its file it is."""

    descriptor: Any
    indexes: tuple[int, ...]


class ProtobufConverter(RegistryConverter):
    """Protobuf, with schemas in a schema registry."""

    java_name = "io.confluent.connect.protobuf.ProtobufConverter"
    format, schema_type, extra = "Protobuf", "PROTOBUF", "protobuf"
    libraries = ("google.protobuf.descriptor_pb2", "google.protobuf.message_factory", "grpc_tools.protoc")

    @classmethod
    def config_def(cls) -> ConfigDef:
        config = define_coercion(registry_settings())
        for name, default, documentation in _FLAGS:
            define_flag(config, name, default, documentation)
        for name in ("specific.protobuf.key.type", "specific.protobuf.value.type"):
            refuse(config, name, ConfigType.STRING, None, _NO_CLASSES)
        refuse(config, "derive.type", ConfigType.BOOLEAN, False, _NO_CLASSES)
        refuse(config, "reference.lookup.only", ConfigType.BOOLEAN, False, "Schemas written here have no references")
        refuse(config, "skip.known.types", ConfigType.BOOLEAN, True, "Files that everybody knows are not registered")
        strategy = "io.confluent.kafka.serializers.subject.DefaultReferenceSubjectNameStrategy"
        why = "Schemas written here have no references"
        refuse(config, "reference.subject.name.strategy", ConfigType.STRING, strategy, why)
        return config

    def set_up(self, settings: dict[str, Any]) -> None:
        self.check_libraries()
        self.options = ProtobufOptions.of(settings)
        self._proto = load("google.protobuf.descriptor_pb2", self.extra)
        self._class_of = load("google.protobuf.message_factory", self.extra).GetMessageClass

    def target(self, schema: Schema | None) -> RegisteredSchema:
        if schema is None:
            raise DataError("Data without a schema can't be written as Protobuf")
        if schema.type is SchemaType.STRUCT:
            file, indexes = to_protobuf(schema, self.options), (0,)
        else:
            file = wrappers()
            names = [message.name for message in file.message_type]
            indexes = (names.index(wrapper_of(schema).rpartition(".")[2]),)
        text = SchemaText("PROTOBUF", show(file, self._proto.FieldDescriptorProto.Type))
        return self._of_files(text, [*self._dependencies(file), file], indexes)

    def _dependencies(self, file: Any) -> list[Any]:
        """The files that a file of ours imports, those needed first."""
        known, found = known_files(), {}

        def add(name: str) -> None:
            for inner in known[name].dependency:
                add(inner)
            found[name] = known[name]

        for name in file.dependency:
            add(name)
        return list(found.values())

    def _of_files(self, text: SchemaText, files: list[Any], indexes: tuple[int, ...]) -> RegisteredSchema:
        pool = pool_of(files)
        descriptor = message_at(pool.FindFileByName(files[-1].name), indexes)
        return RegisteredSchema(text, descriptor.full_name, _Message(descriptor, indexes), write_indexes(indexes))

    def parsed_target(self, text: SchemaText, schema: Schema | None) -> RegisteredSchema:
        files = self._files(f"Error parsing {text.text}", text)
        wanted = split(schema.name, self.options.scrub_invalid_names)[1] if schema and schema.name else None
        names = [message.name for message in files[-1].message_type]
        return self._of_files(text, files, (names.index(wanted) if wanted in names else 0,))

    def writer(self, schema: Schema | None, target: RegisteredSchema) -> FormatWriter:
        assert schema is not None
        return ProtobufWriter(self.options, schema, target.parsed.descriptor, self._class_of, is_java(self.settings))

    def conflicts(self, reader: RegisteredSchema, writer: RegisteredSchema) -> list[str]:
        return conflicts(reader.parsed.descriptor, writer.parsed.descriptor)

    def reader(self, source: WriterSchema) -> FormatReader:
        message = self._message(source.what, source.text, source.id.indexes)
        version = source.version(message.full_name)
        if source.latest is not None:
            text, version = source.latest(message.full_name)
            message = self._message(source.what, text, source.id.indexes, message.full_name)
        schema = MessageSchemas(self.options).top(message, version)
        readers = MessageReaders(self.options, self._class_of, is_java(self.settings))
        change, table = readers.reader(message, schema), readers.table(message, schema)
        parse_message = self._class_of(message).FromString

        def all(messages: Sequence[bytes], start: int) -> list[Any] | Table:
            if table is not None:
                return table(messages, start)
            return [change(parse_message(data[start:])) for data in messages]

        return FormatReader(schema, lambda data, start: change(parse_message(data[start:])), all)

    def _message(self, what: str, text: SchemaText, indexes: tuple[int, ...], name: str | None = None) -> Any:
        """The message at these indexes, or of this name if the schema has it."""
        file = pool_of(self._files(what, text)).FindFileByName(MAIN)
        if name is not None:
            own = name.removeprefix(f"{file.package}.") if file.package else name
            first, *inner = own.split(".")
            found = file.message_types_by_name.get(first)
            for part in inner:
                found = found and found.nested_types_by_name.get(part)
            if found is not None:
                return found
        return message_at(file, indexes)

    def _files(self, what: str, text: SchemaText) -> list[Any]:
        return parse(text.text, self.texts(what, text))

    def head_size(self, data: bytes, start: int) -> int:
        return start + 1 if data[start : start + 1] == b"\0" else read_indexes(data, start)[1]

    def with_indexes(self, id: SchemaId, head: bytes, start: int) -> SchemaId:
        if start == len(head):  # an id that is configured
            return replace(id, indexes=(0,))
        indexes, end = read_indexes(head, start)
        if end != len(head):
            raise SerializationError(f"{len(head) - end} bytes too many after the indexes of a message")
        return replace(id, indexes=indexes)
