"""One run of a source of dlt, whose rows are written as messages: the script for the Python of `dlt.python`.

``python -I reader.py --config FILE [--state FILE]``. It needs nothing of Penstock but this file.

The messages are Singer's, one JSON object a line, but that a SCHEMA has dlt's columns. What resources declare of
columns counts; the type of others is that of their first value, as dlt has it. A value that can't become one of its
column's type goes to a column of its own, ``price__v_text``, as in dlt.

dlt's own state says at the end of a run what has been read; only then is it written. Where a resource promises that
its rows come in the order of the cursor (``row_order="asc"``), each page of it is as good an end.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from uuid import UUID


def main() -> None:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the source prints is no message
    options = argparse.ArgumentParser()
    options.add_argument("--config")
    options.add_argument("--state")
    paths = options.parse_args()
    given, known = _read(paths.config), _read(paths.state)
    os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
    place, _, name = given["source"].rpartition(":")
    if os.path.isabs(place):
        sys.path.insert(0, os.path.dirname(place))
        os.chdir(os.path.dirname(place))  # where dlt looks for `.dlt/secrets.toml`
    try:
        import dlt
    except ImportError as error:
        sys.exit(f"dlt can't be used in {sys.prefix}: {error}. Install `penstock[dlt]`, or set dlt.python")
    from dlt.common.configuration.providers import CustomLoaderDocProvider

    dlt.config.register_provider(CustomLoaderDocProvider("dlt.config", lambda: given["config"]))
    found = getattr(_module(place), name, None)
    run(found, given, DltState(known), out)
    out.flush()


def _read(path: str | None) -> Any:
    if path is None:
        return {}
    with open(path, "rb") as file:
        return json.load(file)


def _module(place: str) -> ModuleType:
    """Import a file or a folder under its own name, which dlt takes as a section of its configuration."""
    if not os.path.isabs(place):
        return importlib.import_module(place)
    folder = [place] if os.path.isdir(place) else None
    file = os.path.join(place, "__init__.py") if folder else place
    name = os.path.basename(place).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folder)
    if spec is None or spec.loader is None:
        sys.exit(f"dlt.source: {place} is no module of Python")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(found: Any, given: Any, progress: DltState, out: Any) -> None:
    from dlt.common.configuration.container import Container
    from dlt.common.configuration.resolve import inject_section
    from dlt.common.pipeline import StateInjectableContext
    from dlt.extract.pipe_iterator import PipeIterator
    from dlt.extract.source import SourceInjectableContext, SourceSchemaInjectableContext

    container = Container()
    with ExitStack() as contexts:
        contexts.enter_context(container.injectable_context(StateInjectableContext(state=progress.state)))
        source = _source(found, given)
        contexts.enter_context(inject_section(source._get_config_section_context()))
        contexts.enter_context(container.injectable_context(SourceInjectableContext(source)))
        contexts.enter_context(container.injectable_context(SourceSchemaInjectableContext(source.schema)))
        tables = TableMessages(progress.columns)
        with PipeIterator.from_pipes(source.resources.selected_pipes) as items:
            for item in items:
                resource = source.resources.with_pipe(item.pipe)
                for line in tables.messages(resource, item.item, item.meta):
                    out.write(line)
                if is_ordered(item.pipe):
                    out.write(progress.of_resource(source.name, resource.name))
                out.flush()
        out.write(progress.at_end())


def _source(found: Any, given: Any) -> Any:
    """The source that ``dlt.source`` names, with its arguments and the chosen resources."""
    import dlt
    from dlt.extract import DltResource, DltSource
    from dlt.extract.reference import SourceFactory

    arguments, chosen = given["arguments"], given["resources"]
    if isinstance(found, SourceFactory) or (arguments and isinstance(found, DltResource)):
        found = found(**arguments)
    if isinstance(found, DltResource):
        found = DltSource.from_data(dlt.Schema("dlt"), found.section, found)
    if not isinstance(found, DltSource):
        sys.exit(f"dlt.source: {given['source']} is no source or resource of dlt (@dlt.source, @dlt.resource)")
    if missing := [name for name in chosen or () if name not in found.resources]:
        sys.exit(f"dlt.resources: there is no resource {missing[0]} in the source, but {', '.join(found.resources)}")
    return found.with_resources(*chosen) if chosen else found


def is_ordered(pipe: Any) -> bool:
    """Whether a later run may begin at the cursor once a page has come out of this pipe.

    The next page may begin with the cursor's last value. So one that leaves that out (``range_start="open"``) has to
    come to its end.
    """
    from dlt.extract.incremental import Incremental, IncrementalResourceWrapper

    last = pipe.steps[-1]
    incremental = last.incremental if isinstance(last, IncrementalResourceWrapper) else last
    if not isinstance(incremental, Incremental) or pipe.has_parent:
        return False
    return incremental.row_order == "asc" and incremental.range_start == "closed"


class DltState:
    """The state of dlt, and the columns that nobody declares: ``{"sources": …, "columns": {table: {name: type}}}``."""

    def __init__(self, known: Any) -> None:
        self._known = json.dumps(known.get("sources", {}))
        self.columns: dict[str, dict[str, str]] = known.get("columns", {})
        self.state: dict[str, Any] = {"sources": self._loaded()}
        self._safe = self._loaded()

    def of_resource(self, source: str, resource: str) -> bytes:
        """Save the cursor of a resource with ordered rows, after a page."""
        live = self.state["sources"].get(source, {}).get("resources", {}).get(resource, {})
        if "incremental" in live:
            resources = self._safe.setdefault(source, {}).setdefault("resources", {})
            resources.setdefault(resource, {})["incremental"] = live["incremental"]
        return self._message(self._safe)

    def at_end(self) -> bytes:
        return self._message(self.state["sources"])

    def _message(self, sources: Any) -> bytes:
        from dlt.common.json import json as typed

        head = b'{"type":"STATE","value":{"sources":'
        return b"".join((head, typed.typed_dumpb(sources), b',"columns":', typed.dumpb(self.columns), b"}}\n"))

    def _loaded(self) -> Any:
        from dlt.common.json import json as typed

        return typed.typed_loads(self._known)


class TableMessages:
    """Rows of resources as messages. ``inferred`` are the types of columns that nobody has declared, by table."""

    def __init__(self, inferred: dict[str, dict[str, str]]) -> None:
        self._inferred = inferred
        self._declared: dict[tuple[str, str], Any] = {}
        self._written: dict[str, bytes] = {}

    def messages(self, resource: Any, item: Any, meta: Any) -> Iterator[bytes]:
        from dlt.common.json import json as encoder

        if getattr(meta, "hints", None):
            resource.merge_hints(meta.hints, meta.create_table_variant)
            self._declared.clear()
        if hasattr(meta, "file_path"):
            sys.exit(f"Resource {resource.name} imports files (with_file_import): only rows can become records")
        alike = not (resource.has_dynamic_table_name or resource.has_other_dynamic_hints)
        for page in [list(_rows(item))] if alike else ([row] for row in _rows(item)):
            if not page:
                continue
            table = self._table(resource, page if alike else page[0], meta, alike)
            columns = ColumnTypes(table, self._inferred.setdefault(table["name"], {}))
            rows = [columns.fitted(row) for row in page]
            schema = encoder.dumpb(columns.schema())
            if self._written.get(table["name"]) != schema:
                self._written[table["name"]] = schema
                yield schema + b"\n"
            head = b'{"type":"RECORD","stream":' + encoder.dumpb(table["name"]) + b',"record":'
            yield from (head + encoder.dumpb(row) + b"}\n" for row in rows)

    def _table(self, resource: Any, items: Any, meta: Any, alike: bool) -> Any:
        key = resource.name, getattr(meta, "table_name", "")
        if not alike or key not in self._declared:
            self._declared[key] = resource.compute_table_schema(items, meta)
        return self._declared[key]


class ColumnTypes:
    """Types of a table's columns: declared ones, and those of first values."""

    def __init__(self, table: Any, inferred: dict[str, str]) -> None:
        self._table, self._inferred = table, inferred
        self._declared = {name: column.get("data_type") for name, column in table["columns"].items()}

    def fitted(self, row: Any) -> dict[str, Any]:
        from dlt.common.data_types import coerce_value, py_type_to_sc_type

        found = {}
        for name, value in row.items():
            if value is None:
                continue
            value = str(value) if isinstance(value, UUID) else value
            try:
                own = py_type_to_sc_type(type(value))
            except TypeError:
                sys.exit(f"Column {name} of {self._table['name']} has a value of {type(value)}: dlt has no type for it")
            kind = self._declared.get(name) or self._inferred.setdefault(name, own)
            if own != kind:
                try:
                    value = coerce_value(kind, own, value)
                except (ValueError, TypeError):
                    name = f"{name}__v_{own}"
                    self._inferred.setdefault(name, own)
            if isinstance(value, float) and not math.isfinite(value):
                value = str(value)
            elif _has_infinite(value):
                sys.exit(f"Column {name} of {self._table['name']} has NaN or infinity in a value that becomes JSON")
            found[name] = value
        return found

    def schema(self) -> dict[str, Any]:
        """Return the SCHEMA, keys first."""
        declared = dict(sorted(self._table["columns"].items(), key=lambda each: not each[1].get("primary_key")))
        columns: dict[str, dict[str, Any]] = {}
        for name in (*declared, *(name for name in self._inferred if name not in declared)):
            column = declared.get(name, {})
            if kind := self._declared.get(name) or self._inferred.get(name):
                kept = {key: column[key] for key in ("nullable", "scale") if column.get(key) is not None}
                columns[name] = {"data_type": kind, **kept}
        keys = [name for name, column in declared.items() if column.get("primary_key") and name in columns]
        return {"type": "SCHEMA", "stream": self._table["name"], "columns": columns, "key_properties": keys}


def _has_infinite(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_infinite, value.values()))
        case list() | tuple():
            return any(map(_has_infinite, value))
    return False


def _rows(item: Any) -> Iterator[Any]:
    if isinstance(item, list):
        for each in item:
            yield from _rows(each)
    elif isinstance(item, dict):
        yield item
    elif hasattr(item, "to_pylist"):  # of Arrow
        yield from item.to_pylist()
    elif hasattr(item, "to_dict") and hasattr(item, "columns"):  # of pandas
        from dlt.common.libs.pandas import pandas_to_arrow

        yield from pandas_to_arrow(item).to_pylist()
    elif hasattr(item, "model_dump"):  # of pydantic
        yield item.model_dump()
    else:
        yield {"value": item}


if __name__ == "__main__":
    main()
