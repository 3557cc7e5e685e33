"""The text of a Protobuf file, in the form in which registries keep it. Java: ``ProtobufSchema.canonicalString``."""

from __future__ import annotations

from typing import Any

_LABELS = {1: "", 2: "required ", 3: "repeated "}


def show(file: Any, types: Any) -> str:
    """``types`` are the names of ``FieldDescriptorProto.Type``; ``file`` is a ``FileDescriptorProto``."""
    lines = [f'syntax = "{file.syntax or "proto2"}";']
    if file.package:
        lines.append(f"package {file.package};")
    if file.dependency:
        lines += ["", *(f'import "{name}";' for name in file.dependency)]
    for option in ("java_package", "java_outer_classname", "go_package", "csharp_namespace", "objc_class_prefix"):
        if file.options.HasField(option):
            lines.append(f'option {option} = "{getattr(file.options, option)}";')
    for message in file.message_type:
        lines += ["", *_message(message, types)]
    for enum in file.enum_type:
        lines += ["", *_enum(enum)]
    return "\n".join(lines) + "\n"


def _message(message: Any, types: Any) -> list[str]:
    inner = [_field(f, types) for f in message.field if not f.HasField("oneof_index") or f.proto3_optional]
    for index, oneof in enumerate(message.oneof_decl):
        members = [f for f in message.field if f.HasField("oneof_index") and f.oneof_index == index]
        if members and not members[0].proto3_optional:
            inner += ["", f"oneof {oneof.name} {{", *(f"  {_field(f, types)}" for f in members), "}"]
    for nested in message.nested_type:
        inner += ["", *_message(nested, types)]
    for enum in message.enum_type:
        inner += ["", *_enum(enum)]
    return [f"message {message.name} {{", *(f"  {line}" if line else "" for line in inner), "}"]


def _field(field: Any, types: Any) -> str:
    label = "optional " if field.proto3_optional else _LABELS[field.label]
    kind = field.type_name or types.Name(field.type).removeprefix("TYPE_").lower()
    shown = f"{label}{kind} {field.name} = {field.number}"
    options = [(d, value) for d, value in field.options.ListFields() if d.is_extension]
    for descriptor, meta in options:
        params = ", ".join(f'{{key: "{key}", value: "{meta.params[key]}"}}' for key in sorted(meta.params))
        shown += f" [({descriptor.full_name}) = {{params: [{params}]}}]"
    return shown + ";"


def _enum(enum: Any) -> list[str]:
    return [f"enum {enum.name} {{", *(f"  {value.name} = {value.number};" for value in enum.value), "}"]
