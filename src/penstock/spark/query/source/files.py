"""Reading of a SparkSource's files: no value is lost in silence.

Spark's own default, ``PERMISSIVE``, makes nulls of what it can't read, takes the columns of CSV by their order whatever
the header says, and leaves out files that are a week older than the newest. Unless the connector asks for a ``mode``,
a record that does not fit ``schema`` fails the task or, with ``errors.tolerance=all``, is skipped or becomes a dead
letter; columns of files with a header are found by their names.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, unquote

from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.api.errors import DataError
from penstock.connectors.spark.connectors import SparkSourceTask
from penstock.connectors.spark.sink_settings import OPTION
from penstock.connectors.spark.source_settings import SourceSettings
from penstock.pipeline.errors import ErrorSettings
from penstock.spark.query.dataframes import DriverContext, full_text
from penstock.spark.query.sink.tables.delta import quoted
from penstock.spark.query.source.schemas import FILE, MALFORMED, shown
from penstock.spark.query.sql.select import SqlSelect
from penstock.spark.versions import try_cast

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CHECKED = frozenset({"json", "csv", "xml"})
"""Formats of texts, whose records may fit a schema or not; of the others Spark reports errors by itself."""
_BITS: dict[t.DataType, int] = {t.ByteType(): 8, t.ShortType(): 16}
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_OWN_CORRUPT = "_corrupt_record"
_FOREVER = "36500d"
_REPORT = re.compile(r"penstock malformed (\{.*?\}) in record", re.DOTALL)
_HEAD_BYTES = 1 << 16


@dataclass(slots=True)
class SourceFiles:
    """The files, or whatever else, that one SparkSource reads; ``tolerates``: it skips records that fail."""

    config: Mapping[str, str]
    """The connector's configuration."""
    context: DriverContext
    settings: SourceSettings = field(init=False)
    tolerates: bool = field(init=False)
    options: dict[str, str] = field(init=False)
    checked: bool = field(init=False)
    """Whether the rows have MALFORMED and FILE."""
    columns: t.StructType | None = field(init=False)
    """The columns to read; None: the format's own."""
    _names: dict[bytes, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings = SourceSettings.of(self.config)
        self.tolerates = ErrorSettings.of(self.config).tolerate
        schema = self.settings.schema
        columns = None if schema is None else self.context.columns(schema)
        lower = {name.casefold(): value for name, value in self.settings.options.items()}
        own = lower.get("columnnameofcorruptrecord", _OWN_CORRUPT)
        self.checked = (
            self.settings.format in _CHECKED
            and columns is not None
            and "mode" not in lower
            and own not in columns.names
            and "singlevariantcolumn" not in lower
        )
        self.columns = columns
        self.options = dict(self.settings.options)
        if self.settings.path is not None and "maxfileage" not in lower:
            self.options["maxFileAge"] = _FOREVER
        if self.checked:
            assert columns is not None
            self.columns = t.StructType([*columns, t.StructField(MALFORMED, t.StringType())])
            self.options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}

    def stream(self) -> DataFrame:
        """Return the stream, with MALFORMED and FILE if it is checked."""
        if not self.checked and not self._narrow:
            options = {f"{OPTION}{name}": value for name, value in self.options.items()}
            frame: DataFrame = SparkSourceTask.stream({**self.config, **options}, self.context)
            return frame
        assert self.columns is not None
        reader = self.context.session.readStream.format(self.settings.format).options(**self.options)
        read = [
            t.StructField(each.name, t.IntegerType()) if each.name in self._narrow else each for each in self.columns
        ]
        frame = reader.schema(t.StructType(read)).load(self.settings.path)
        if self._narrow:
            frame = self._narrowed(frame)
        return frame.select("*", f.col("_metadata.file_path").alias(FILE)) if self.checked else frame

    @property
    def _narrow(self) -> frozenset[str]:
        """The columns of one or two bytes in formats for whose larger numbers Spark takes others."""
        wraps = self.columns is not None and (self.settings.format == "parquet" or self._is_json)
        return frozenset(each.name for each in self.columns or () if each.dataType in _BITS) if wraps else frozenset()

    @property
    def _is_json(self) -> bool:
        return self.checked and self.settings.format == "json"

    def _narrowed(self, frame: DataFrame) -> DataFrame:
        """Return a frame whose columns of integers have the declared types; of json, too large ones are malformed."""
        assert self.columns is not None
        fits = {}
        for name in self._narrow:
            bits = _BITS[self.columns[name].dataType]
            column = f.col(quoted(name))
            fits[name] = column.isNull() | column.between(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        taken = []
        for name in frame.columns:  # those of `schema`, and of folders such as `dt=2026-11-29`
            column = f.col(quoted(name))
            if name in fits:
                each = self.columns[name]
                value = f.when(fits[each.name], column.cast(each.dataType))
                if not self._is_json:
                    text = f.concat(column.cast("string"), f.lit(f" does not fit column {each.name} of "))
                    where = f.concat(f.lit(f"type {each.dataType.simpleString()} in "), f.col("_metadata.file_path"))
                    value = value.otherwise(f.raise_error(f.concat(text, where)).cast(each.dataType))
                column = value.alias(each.name)
            elif name == MALFORMED:
                others = f.to_json(f.struct(*[quoted(other) for other in self.columns.names if other != MALFORMED]))
                misfit = f.when(~functools.reduce(lambda one, other: one & other, fits.values()), others)
                column = f.coalesce(column, misfit).alias(MALFORMED)
            taken.append(column)
        return frame.select(*taken)

    @property
    def one_by_one(self) -> bool:
        """Whether each file of a batch is looked at before the batch is read."""
        return self.by_header or (self.settings.format == "orc" and self.columns is not None)

    @property
    def by_header(self) -> bool:
        """Whether the columns of the files are found by the names in their headers."""
        lower = {name.casefold(): value for name, value in self.settings.options.items()}
        header = lower.get("header", "").strip().casefold() == "true"
        return self.settings.format == "csv" and header and "enforceschema" not in lower

    def rows(self, frame: DataFrame, files: Sequence[str], select: SqlSelect | None) -> DataFrame:
        """Return the rows of a batch that is read from ``files``, their URIs, after ``select``.

        With tolerance the last columns are MALFORMED and FILE; without, a malformed record raises an error for
        ``explain``. Raises DataError for a file whose header lacks a column.
        """
        if self.by_header:
            frame = self._by_names(frame, files)
        if self.settings.format == "orc" and self.columns is not None:
            frame = self._by_types(frame, files)
        if not self.checked:
            return frame if select is None else select.of(frame)
        if not self.tolerates:
            report = f.to_json(f.struct(f.col(FILE).alias("file"), f.col(MALFORMED).alias("record")))
            error = f.raise_error(f.concat(f.lit("penstock malformed "), report, f.lit(" in record")))
            frame = frame.where(f.col(MALFORMED).isNull() | error.cast("boolean")).drop(MALFORMED, FILE)
            return frame if select is None else select.of(frame)
        if select is None:
            return frame
        good = select.of(frame.where(f.col(MALFORMED).isNull()).drop(MALFORMED, FILE))
        bad = frame.where(f.col(MALFORMED).isNotNull()).select(MALFORMED, FILE)
        none = [f.lit(None).cast("string").alias(name) for name in (MALFORMED, FILE)]
        return good.select("*", *none).unionByName(bad, allowMissingColumns=True)

    def shaped(self, stream: DataFrame, select: SqlSelect | None) -> t.StructType:
        """Return the columns of the rows that are sent."""
        frame = stream.drop(MALFORMED, FILE)
        return (frame if select is None else select.of(frame)).schema

    def explain(self, error: BaseException) -> None:
        """Raise DataError, which names file, line and column, if ``rows`` raised this for a malformed record."""
        found = _REPORT.search(full_text(error))
        if found is None or not self.checked:
            return
        try:
            report: dict[str, str] = json.loads(found[1])
        except ValueError:
            return
        self._refuse(report.get("file", ""), report.get("record", ""))

    def _refuse(self, file: str, record: str) -> NoReturn:
        line = self._line(file, record)
        where = f"{file}, line {line}" if line is not None else file
        raise DataError(
            f"A record of {where} does not fit the schema{self._misfits(record)}: {shown(record)}. Correct it, or set "
            "errors.tolerance=all to skip such records, or option.mode=PERMISSIVE to read nulls in their place"
        )

    def _line(self, file: str, record: str) -> int | None:
        """Return the number of the first line that is this record, if it is a line of the file."""
        options = {name: value for name, value in self.options.items() if name.casefold() in ("linesep", "encoding")}
        with contextlib.suppress(Exception):
            lines = self.context.session.read.options(**options, __globPaths__="false").text(_path(file)).coalesce(1)
            numbered = lines.select(f.monotonically_increasing_id().alias("n"), "value")
            found = numbered.where(f.col("value").isin(record, record + "\r")).select("n").head()
            return None if found is None else int(found[0]) + 1
        return None

    def _misfits(self, record: str) -> str:
        """Return the columns that a record has no right values for, as the end of a clause; empty: not known."""
        assert self.columns is not None
        parse = getattr(f, f"from_{self.settings.format}")
        columns = [each for each in self.columns if each.name != MALFORMED]
        corrupt = self.columns[MALFORMED]
        by_name = self.settings.format != "csv"
        misfits = []
        with contextlib.suppress(Exception):
            for column in columns:
                if by_name:
                    kind = t.StructType([column, corrupt])
                else:
                    others = [each if each is column else t.StructField(each.name, t.StringType()) for each in columns]
                    kind = t.StructType([*others, corrupt])
                parsed: Any = parse(f.lit(record), _ddl(kind), self.options)
                row = self.context.session.range(1).select(parsed.getField(MALFORMED)).head()
                if row is not None and row[0] is not None:
                    misfits.append(column)
        if not misfits or len(misfits) == len(columns) > 1:
            return ""
        return " in " + ", ".join(f"column {each.name} ({each.dataType.simpleString()})" for each in misfits)

    def _by_names(self, frame: DataFrame, files: Sequence[str]) -> DataFrame:
        """Return the rows of CSV files by the names in their headers, in the order of the schema."""
        assert self.columns is not None
        wanted = [name for name in self.columns.names if name != MALFORMED]
        groups: dict[tuple[str, ...], list[str]] = {}
        for file in files:
            names = self._header(file)
            if names:
                groups.setdefault(tuple(names), []).append(file)
        order = [name.casefold() for name in wanted]
        if all([name.casefold() for name in names] == order for names in groups):
            return frame
        frames = [self._named(names, group, frame) for names, group in groups.items()]
        result = frames[0]
        for each in frames[1:]:
            result = result.unionByName(each)
        return result

    def _named(self, names: Sequence[str], files: Sequence[str], frame: DataFrame) -> DataFrame:
        """Return the rows of files with one header, with the columns of ``frame``."""
        assert self.columns is not None
        known = {each.name.casefold(): each for each in self.columns if each.name != MALFORMED}
        fields, used = [], set()
        for i, name in enumerate(names):
            column = known.get(name.casefold())
            if column is None or column.name in used:
                fields.append(t.StructField(f"__penstock_other_{i}", t.StringType()))
            else:
                fields.append(column)
                used.add(column.name)
        missing = [each for each in self.columns if each.name not in used and each.name != MALFORMED]
        in_path = [each for each in missing if all(f"/{each.name}=" in file for file in files)]
        lacking = [each for each in missing if each not in in_path]
        if lacking and "mode" not in {name.casefold() for name in self.settings.options}:
            raise DataError(
                f"The header of {files[0]} has no column {', '.join(each.name for each in lacking)}, which `schema` "
                f"has, but {', '.join(names)}; `option.enforceSchema=true` takes columns by their order"
            )
        corrupt = [self.columns[MALFORMED]] if self.checked else []
        reader = self.context.session.read.format("csv").options(**self.options, __globPaths__="false")
        path = self.settings.path or ""
        if not re.search(r"[*?\[{]", path):
            reader = reader.option("basePath", path)
        read = reader.schema(t.StructType([*fields, *in_path, *corrupt])).load([_path(file) for file in files])
        there = {name.casefold() for name in read.columns}
        taken = []
        for column in frame.schema:
            name = column.name
            if name == FILE:
                taken.append(f.col("_metadata.file_path").alias(FILE))
            elif name == MALFORMED:
                # Spark looks only for misfits of the columns that `sql` leaves, and reads no file for this one alone.
                nothing = f.substring(f.hash(*(quoted(each.name) for each in fields)).cast("string"), 1, 0)
                taken.append(f.concat(f.col(MALFORMED), nothing).alias(MALFORMED))
            elif any(name == each.name for each in lacking):
                taken.append(f.lit(None).cast(column.dataType).alias(name))
            elif name.casefold() in there:
                taken.append(f.col(quoted(name)))
            else:
                taken.append(_of_folder(column))
        return read.select(*taken)

    def _by_types(self, frame: DataFrame, files: Sequence[str]) -> DataFrame:
        """Return the rows of ORC files, of whose values Spark makes nulls or others where the types differ."""
        assert self.columns is not None
        groups: dict[tuple[tuple[str, t.DataType], ...], list[str]] = {}
        for file in files:
            reader = self.context.session.read.options(__globPaths__="false")
            own = {each.name.casefold(): each.dataType for each in reader.orc(_path(file)).schema}
            pairs = [(each, own.get(each.name.casefold(), each.dataType)) for each in self.columns]
            differing = tuple((each.name, kind) for each, kind in pairs if _loses(kind, each.dataType))
            groups.setdefault(differing, []).append(file)
        if not any(groups):
            return frame
        frames = [self._cast(dict(differing), group, frame.columns) for differing, group in groups.items()]
        return functools.reduce(lambda one, other: one.unionByName(other), frames)

    def _cast(self, kinds: Mapping[str, t.DataType], files: Sequence[str], columns: Sequence[str]) -> DataFrame:
        assert self.columns is not None
        reader = self.context.session.read.format("orc").options(**self.options, __globPaths__="false")
        path = self.settings.path or ""
        if not re.search(r"[*?\[{]", path):
            reader = reader.option("basePath", path)
        read = [t.StructField(each.name, kinds.get(each.name, each.dataType)) for each in self.columns]
        frame = reader.schema(t.StructType(read)).load([_path(file) for file in files])
        taken = []
        for name in columns:
            column = f.col(quoted(name))
            if name in kinds:
                kind = self.columns[name].dataType
                value = try_cast(quoted(name), kind)
                fits = value.isNotNull()
                if isinstance(kinds[name], t.NumericType):
                    fits &= value.cast(kinds[name]) == column
                text = f.concat(column.cast("string"), f.lit(f" does not fit column {name} of "))
                where = f.concat(f.lit(f"type {kind.simpleString()} in "), f.col("_metadata.file_path"))
                error = f.raise_error(f.concat(text, where)).cast(kind)
                column = f.when(column.isNull(), value).when(fits, value).otherwise(error).alias(name)
            taken.append(column)
        return frame.select(*taken)

    def _header(self, file: str) -> list[str]:
        """Return the names in a file's header; none if it is empty."""
        lower = {name.casefold() for name in self.options}
        line = None if lower & {"comment", "multiline"} else self._first_line(file)
        if line is not None and line in self._names:
            return self._names[line]
        options = {
            name: value
            for name, value in self.options.items()
            if name.casefold() not in ("mode", "columnnameofcorruptrecord", "inferschema")
        }
        found = self.context.session.read.options(**options, __globPaths__="false").csv(_path(file)).columns
        names = [name.removeprefix("\ufeff") for name in found]
        if line:
            self._names[line] = names
        return names

    def _first_line(self, file: str) -> bytes | None:
        """Return the bytes of the first line of a file that is not compressed, if it is short and not blank."""
        jvm: Any = self.context.session._jvm
        hadoop = jvm.org.apache.hadoop
        configuration = self.context.session.sparkContext._jsc.hadoopConfiguration()
        path = hadoop.fs.Path(_path(file))
        if hadoop.io.compress.CompressionCodecFactory(configuration).getCodec(path) is not None:
            return None
        stream = path.getFileSystem(configuration).open(path)
        try:
            data = bytes(stream.readNBytes(_HEAD_BYTES))
        finally:
            stream.close()
        line, end, _ = data.partition(b"\n")
        return line if end and line.strip() and line.count(b'"') % 2 == 0 else None


def _loses(own: t.DataType, declared: t.DataType) -> bool:
    """Return whether values of a file's type may be others in a column of the declared one."""
    if own == declared or not isinstance(declared, t.IntegralType | t.DateType | t.BooleanType | t.TimestampType):
        return isinstance(own, t.StringType) and isinstance(declared, t.NumericType)
    if isinstance(own, t.IntegralType) and isinstance(declared, t.IntegralType):
        return _WHOLE.index(type(own)) > _WHOLE.index(type(declared))
    return isinstance(own, t.StringType) or (isinstance(own, t.NumericType) and isinstance(declared, t.IntegralType))


def _of_folder(column: t.StructField) -> Column:
    """Return the value of a column that Spark has found in the name of a folder, such as ``dt=2026-11-29``."""
    path = f.col("_metadata.file_path")
    found = f.regexp_extract(path, f"/{re.escape(quote(column.name))}=([^/]*)/", 1)
    value = f.url_decode(f.replace(found, f.lit("+"), f.lit("%2B")))
    none = (found == "") | (found == "__HIVE_DEFAULT_PARTITION__")
    return f.when(~none, value).cast(column.dataType).alias(column.name)


def _path(uri: str) -> str:
    """Return a path from its URI, in which Spark has replaced some characters."""
    return unquote(uri)


def _ddl(columns: t.StructType) -> str:
    return ", ".join(f"{quoted(each.name)} {each.dataType.simpleString()}" for each in columns)
