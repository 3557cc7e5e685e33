"""The text of a Protobuf file, in the form in which registries keep it. Java: ``ProtobufSchemaUtils.toString``."""

from __future__ import annotations

from typing import Any

from penstock.pipeline.converters.registry.protobuf.options import META

_LABELS = {1: "", 2: "required ", 3: "repeated "}
_OPTIONS = (
    "java_package", "java_outer_classname", "java_multiple_files", "go_package", "cc_enable_arenas",
    "objc_class_prefix", "csharp_namespace",
)  # fmt: skip


def show(file: Any, types: Any) -> str:
    """``types`` are the names of ``FieldDescriptorProto.Type``; ``file`` is a ``FileDescriptorProto``."""
    text = f'syntax = "{file.syntax or "proto2"}";\n'
    if file.package:
        text += f"package {file.package};\n"
    groups = (
        [f'import "{name}";\n' for name in file.dependency if name != META],
        [_option(name, getattr(file.options, name)) for name in _OPTIONS if file.options.HasField(name)],
        [*(_message(message, types) for message in file.message_type), *map(_enum, file.enum_type)],
    )
    return text + "".join("\n" + "".join(group) for group in groups if group)


def _option(name: str, value: str | bool) -> str:
    shown = str(value).lower() if isinstance(value, bool) else f'"{value}"'
    return f"option {name} = {shown};\n"


def _block(head: str, *groups: list[str]) -> str:
    """Groups have a blank line between them, which is indented as all other lines are."""
    return f"{head} {{" + "".join("\n" + "".join(map(_indented, group)) for group in groups if group) + "}\n"


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))


def _message(message: Any, types: Any) -> str:
    fields = [_field(f, types) for f in message.field if not f.HasField("oneof_index") or f.proto3_optional]
    oneofs = []
    for index, oneof in enumerate(message.oneof_decl):
        members = [f for f in message.field if f.HasField("oneof_index") and f.oneof_index == index]
        if members and not members[0].proto3_optional:
            oneofs.append(_block(f"oneof {oneof.name}", [_field(f, types) for f in members]))
    nested = [*(_message(inner, types) for inner in message.nested_type), *map(_enum, message.enum_type)]
    return _block(f"message {message.name}", fields, oneofs, nested)


def _field(field: Any, types: Any) -> str:
    label = "optional " if field.proto3_optional else _LABELS[field.label]
    kind = field.type_name or types.Name(field.type).removeprefix("TYPE_").lower()
    shown = f"{label}{kind} {field.name} = {field.number}"
    if field.HasField("json_name"):
        shown += f' [json_name = "{field.json_name}"]'
    options = [(d, value) for d, value in field.options.ListFields() if d.is_extension]
    for descriptor, meta in options:
        params = ",\n".join(_param(key, meta.params[key]) for key in sorted(meta.params))
        shown += f" [({descriptor.full_name}) = {{\n  params: [\n{params}\n  ]\n}}]"
    return shown + ";\n"


def _param(key: str, value: str) -> str:
    lines = [f'key: "{key}"', f'value: "{value}"']
    if key in ("precision", "scale"):
        lines.reverse()
    return f"    {{\n      {lines[0]},\n      {lines[1]}\n    }}"


def _enum(enum: Any) -> str:
    return _block(f"enum {enum.name}", [f"{value.name} = {value.number};\n" for value in enum.value])
