"""Questions for Harness.java: random configurations and records for every transform, always the same for the same seed.

python corpus.py [questions per transform] | java -cp 'classes:<Kafka>/libs/*' Harness | gzip -9n > answers.jsonl.gz
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Callable
from typing import Any

Json = Any
R = random.Random(20240229)

NAMES = ["a", "b", "id", "name", "payload", "ts", "count", "address", "x.y", "Zeile", "größe", "k1", "user_id"]
PRIMITIVES = ["INT8", "INT16", "INT32", "INT64", "FLOAT32", "FLOAT64", "BOOLEAN", "STRING", "BYTES"]
LOGICAL = {"Decimal": "BYTES", "Date": "INT32", "Time": "INT32", "Timestamp": "INT64"}
PACKAGE = "org.apache.kafka.connect.data."
BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
# fmt: off
TEXTS = ["", "a", "12", "-7", "300", "70000", "5000000000", "1e3", "1.5", " 2",
         "true", "TRUE", "no", "NaN", "0x1p3", "+4", "1_0", "2024-02-29", "1999-12-31 23:59:59", "2024-02-29T13:14:15",
         "13:14:15", "Struct{}", "é☃", "99999999999999999999"]
FLOATS = ["0.0", "-0.0", "1.5", "-2.75", "0.1", "1.0E10", "3.4E38", "123456.789",
          "NaN", "Infinity", "-Infinity", "1.0E-5", "300.7"]
TIMES = [0, 1, -1, 86399999, 86400000, 1709212455123, -86400000, 253402300799999, 951782400000, 1500000000000]
# fmt: on


def chance(p: float) -> bool:
    return R.random() < p


def primitive(kind: str) -> Json:
    match kind:
        case "INT8" | "INT16" | "INT32" | "INT64":
            limit = 1 << BITS[kind] - 1
            return R.choice([0, 1, -1, 42, limit - 1, -limit, R.randrange(-limit, limit)])
        case "FLOAT32" | "FLOAT64":
            return R.choice(FLOATS)
        case "BOOLEAN":
            return chance(0.5)
        case "STRING":
            return R.choice(TEXTS)
        case _:
            return base64.b64encode(R.choice([b"", b"abc", bytes(range(5))])).decode()


def value_of(schema: Json) -> Json:
    """Return a value for a field of a struct, in which null may stand for the default."""
    return None if "default" in schema and chance(0.3) else item_of(schema)


def item_of(schema: Json) -> Json:
    return None if schema.get("optional") and chance(0.25) else non_null(schema)


def non_null(schema: Json) -> Json:
    name = schema.get("name", "").removeprefix(PACKAGE)
    match name:
        case "Decimal":
            return R.choice(["12.34", "-0.50", "99999999999999999999.99", "300.00"])
        case "Date":
            return R.choice(TIMES) // 86400000 * 86400000
        case "Time":
            return R.choice(TIMES) % 86400000
        case "Timestamp":
            return R.choice(TIMES)
    match schema["type"]:
        case "STRUCT":
            return {field: value_of(inner) for field, inner in schema["fields"]}
        case "ARRAY":
            return [item_of(schema["items"]) for _ in range(R.randrange(3))]
        case "MAP":
            keys = R.sample(NAMES, R.randrange(4))
            return [[key, item_of(schema["items"])] for key in keys]
        case kind:
            return primitive(kind)


def schema_of(depth: int, kinds: list[str] | None = None) -> Json:
    kinds = kinds or [
        *PRIMITIVES,
        *LOGICAL,
        "STRING",
        "INT32",
        *(["STRUCT", "STRUCT", "ARRAY", "MAP"] if depth else []),
    ]
    kind = R.choice(kinds)
    schema: dict[str, Json] = {"type": LOGICAL.get(kind, kind)}
    if kind in LOGICAL:
        schema |= {"name": PACKAGE + kind, "version": 1}
        if kind == "Decimal":
            schema["parameters"] = {"scale": "2"}
    elif chance(0.15):
        schema |= {"name": R.choice(["shop.Item", "v"])}
        if chance(0.5):
            schema["version"] = R.randrange(1, 9)
        if chance(0.3):
            schema["doc"] = "what it is"
        if chance(0.3):
            schema["parameters"] = {"p": "1"}
    match kind:
        case "STRUCT":
            names = R.sample(NAMES, R.randrange(0 if chance(0.1) else 1, 6))
            schema["fields"] = [[name, schema_of(depth - 1)] for name in names]
        case "ARRAY":
            schema["items"] = schema_of(depth - 1)
        case "MAP":
            schema["keys"] = {"type": "STRING"}
            schema["items"] = schema_of(depth - 1)
    if chance(0.4):
        schema["optional"] = True
    if kind != "STRUCT" and chance(0.2):  # SchemaBuilder accepts only structs that it has built itself
        schema["default"] = non_null(schema)
    return schema


def schemaless(depth: int) -> Json:
    kind = R.randrange(9 if depth else 7)
    match kind:
        case 0:
            return None
        case 1:
            return chance(0.5)
        case 2:
            return primitive("INT64")
        case 3 | 4:
            return R.choice(TEXTS)
        case 5:
            return {"float": R.choice(FLOATS)}
        case 6:
            odd = [{"bytes": "YWJj"}, {"date": R.choice(TIMES)}, {"decimal": "1.50"}]
            return R.choice([*odd, R.choice(TIMES), 1709212455])
        case 7:
            return [schemaless(depth - 1) for _ in range(R.randrange(3))]
        case _:
            return a_map(depth - 1)


def a_map(depth: int) -> Json:
    keys = R.sample(NAMES, R.randrange(len(NAMES)) if chance(0.3) else R.randrange(6))
    return {"map": [[key, schemaless(depth)] for key in keys]}


def data() -> Json:
    """Return a schema and a value: mostly a struct or a schemaless map, as transforms expect, sometimes anything."""
    if chance(0.45):
        schema = schema_of(2, ["STRUCT"])
        return [schema, item_of(schema)]
    if chance(0.7):
        return [None, a_map(2)]
    if chance(0.25):
        return [None, None]
    if chance(0.3):
        return [None, schemaless(1)]
    schema = schema_of(1)
    return [schema, item_of(schema)]


def fields_of(pair: Json) -> list[str]:
    """Return the names of the value's fields, if any."""
    schema, value = pair
    if schema is not None:
        return [name for name, _ in schema.get("fields", ())]
    return [key for key, _ in value["map"]] if isinstance(value, dict) and "map" in value else []


def some_field(pair: Json) -> str:
    known = fields_of(pair)
    return R.choice(known) if known and chance(0.85) else R.choice([*NAMES, "nope"])


def some_fields(pair: Json, most: int = 3) -> list[str]:
    return list(dict.fromkeys(some_field(pair) for _ in range(R.randrange(1, most + 1))))


def record(pair: Json, on_key: bool) -> Json:
    other = data() if chance(0.3) else [{"type": "STRING", "optional": True}, "other"]
    headers = [["h1", {"type": "STRING"}, "x"], ["h2", None, 5], ["h1", {"type": "INT32", "optional": True}, None]]
    offset = None if chance(0.4) else R.randrange(1000)
    return {
        "topic": R.choice(["orders", "t-1", "a.b_c", "logs-2024-01"]),
        "partition": R.choice([None, 0, 7] if offset is None else [0, 7]),
        "key": pair if on_key else other,
        "value": other if on_key else pair,
        "timestamp": None if chance(0.15) else R.choice(TIMES),
        "offset": offset,
        "headers": headers[: R.randrange(4)],
    }


def replace_null(config: dict[str, str]) -> dict[str, str]:
    if chance(0.3):
        config["replace.null.with.default"] = R.choice(["true", "false", "false", "False"])
    return config


def cast(pair: Json) -> dict[str, str]:
    types = ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
    odd = ["bytes", "struct", "int", "Int32 "]
    pick = lambda: R.choice(types) if chance(0.95) else R.choice(odd)  # noqa: E731
    simple = not fields_of(pair)
    if chance(0.8 if simple else 0.08):
        return replace_null({"spec": pick()})
    spec = ",".join(f"{name}:{pick()}" for name in some_fields(pair, 4))
    if chance(0.03):
        spec = R.choice(["", ",int8", "a:b:c", "a:int8,int8", "a:", ":int8"])
    return replace_null({"spec": spec})


def extract(pair: Json) -> dict[str, str]:
    config = {"field": some_field(pair)}
    if chance(0.5):
        config["field.syntax.version"] = R.choice(["V2", "v2", "V1", "V3"]) if chance(0.2) else "V2"
        path, (schema, value) = [], pair
        for _ in range(R.randrange(1, 4)):
            name = some_field([schema, value])
            path.append(f"`{name}`" if "." in name or chance(0.2) else name)
            inner = [s for n, s in (schema or {}).get("fields", ()) if n == name]
            entries = value.get("map", ()) if schema is None and isinstance(value, dict) else ()
            items = [v for k, v in entries if k == name]
            schema, value = (inner[0], None) if inner else (None, items[0] if items else None)
        config["field"] = ".".join(path)
        if chance(0.05):
            config["field"] = R.choice(["`a", "a.", "`a`b`", "`a\\`", "`a\\`.b`", "a..b", ".a"])
    return replace_null(config)


def flatten(pair: Json) -> dict[str, str]:
    return {"delimiter": R.choice(["_", "-", "", "."])} if chance(0.5) else {}


def header_from(pair: Json) -> dict[str, str]:
    fields = some_fields(pair)
    headers = [f"h{i}" for i in range(len(fields) + chance(0.03))]
    operation = R.choice(["move", "copy"]) if chance(0.97) else "MOVE"
    return replace_null({"fields": ",".join(fields), "headers": ",".join(headers), "operation": operation})


def hoist(pair: Json) -> dict[str, str]:
    return {"field": R.choice(["line", "x", ""]) if chance(0.1) else "f"}


def insert(pair: Json) -> dict[str, str]:
    config: dict[str, str] = {}
    for source in ("topic", "partition", "offset", "timestamp", "static"):
        if chance(0.12 if source == "offset" else 0.35):
            name = some_field(pair) if chance(0.1) else R.choice(["T", "new", source, f"_{source}"])
            config[f"{source}.field"] = name + R.choice(["", "", "!", "?"])
    if "static.field" in config or chance(0.1):
        config["static.value"] = R.choice(["v", "", "12"])
    return replace_null(config)


def insert_header(pair: Json) -> dict[str, str]:
    literals = [*TEXTS, "[1,2]", "null", '{"a":1}', '"q"']
    return {"header": R.choice(["h1", "new"]), "value.literal": R.choice(literals)}


def drop_headers(pair: Json) -> dict[str, str]:
    return {"headers": R.choice(["h1", "h2", "h1,h2", "nope", "h1,nope", "", "h1,h1"])}


def mask(pair: Json) -> dict[str, str]:
    config = {"fields": ",".join(some_fields(pair))}
    if chance(0.45):
        config["replacement"] = R.choice(["***", "0", "12", "-1.5", "300", "1e3", "", "70000", "99999999999999999999"])
    if chance(0.03):
        config["fields"] = R.choice(["", "a,a"])
    return replace_null(config)


def replace_field(pair: Json) -> dict[str, str]:
    config: dict[str, str] = {}
    if chance(0.4):
        config["exclude"] = ",".join(some_fields(pair))
    if chance(0.3):
        config["include"] = ",".join(some_fields(pair, 5))
    if chance(0.6):
        targets = ["neu", "a", "b", "id", "x1", "Z"]
        config["renames"] = ",".join(f"{name}:{R.choice(targets)}" for name in some_fields(pair))
    if chance(0.03):
        config["renames"] = R.choice(["a", "a:b:c", ":", "a:", ":b"])
    return replace_null(config)


def metadata(pair: Json) -> dict[str, str]:
    config: dict[str, str] = {}
    if chance(0.7):
        config["schema.name"] = R.choice(["my.Line", "x", ""])
    if chance(0.6):
        config["schema.version"] = R.choice(["3", "1", "x"]) if chance(0.3) else "3"
    return replace_null(config)


def timestamp_converter(pair: Json) -> dict[str, str]:
    config = {"target.type": R.choice(["string", "unix", "Date", "Time", "Timestamp"])}
    simple = not fields_of(pair)
    if not (chance(0.8) if simple else chance(0.08)):
        schema = pair[0]
        good = [n for n, s in (schema or {}).get("fields", ()) if s["type"] in ("INT64", "STRING") or s.get("name", "")]
        config["field"] = R.choice(good) if good and chance(0.7) else some_field(pair)
    if config["target.type"] == "string" or chance(0.5):
        formats = ["yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "HH:mm:ss", "dd MMM yyyy"]
        formats.append("yyyyMMddHHmmssSSS")
        config["format"] = R.choice(formats) if chance(0.95) else R.choice(["", "bad", "'"])
    if chance(0.5):
        config["unix.precision"] = R.choice(["seconds", "milliseconds", "microseconds", "nanoseconds", "minutes"])
    return replace_null(config)


def regex_router(pair: Json) -> dict[str, str]:
    regex = R.choice([".*", "(.*)-(.*)", "orders", "(?<n>[a-z]+).*", "t-(\\d+)", "order", "(o)(x)?rders", "[", "(a"])
    return {"regex": regex, "replacement": R.choice(["new", "$1", "$1-x", "${n}", "$2", "pre_$0", "a\\$b", "", "$"])}


def timestamp_router(pair: Json) -> dict[str, str]:
    config: dict[str, str] = {}
    if chance(0.6):
        config["topic.format"] = R.choice(["${topic}-${timestamp}", "${timestamp}", "x", "${topic}${topic}"])
    if chance(0.6):
        formats = ["yyyy", "yyyy-MM-dd-HH", "yyyyMMddHHmmss", "SSS", "EEE", "'S'yyyy", "h a"]
        config["timestamp.format"] = R.choice(formats)
    return config


def value_to_key(pair: Json) -> dict[str, str]:
    config = {"fields": ",".join(some_fields(pair))}
    if chance(0.03):
        config["fields"] = R.choice(["", "a,a"])
    return replace_null(config)


CONFIGS: dict[str, Callable[[Json], dict[str, str]]] = {
    "Cast$": cast,
    "DropHeaders": drop_headers,
    "ExtractField$": extract,
    "Filter": lambda pair: {},
    "Flatten$": flatten,
    "HeaderFrom$": header_from,
    "HoistField$": hoist,
    "InsertField$": insert,
    "InsertHeader": insert_header,
    "MaskField$": mask,
    "RegexRouter": regex_router,
    "ReplaceField$": replace_field,
    "SetSchemaMetadata$": metadata,
    "TimestampConverter$": timestamp_converter,
    "TimestampRouter": timestamp_router,
    "ValueToKey": value_to_key,
}
FEW = ("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter")


def scalar_moment() -> Json:
    """Return a value that TimestampConverter converts without a field."""
    if chance(0.4):
        return [None, R.choice([*TIMES, 1709212455, *TEXTS[-7:], {"date": R.choice(TIMES)}, None, {"float": "1.5"}])]
    schema = schema_of(0, ["INT64", "STRING", "Timestamp", "Date", "Time"])
    return [schema, item_of(schema)]


def question(name: str) -> Json:
    on_key = chance(0.3) and name != "ValueToKey"
    pair = scalar_moment() if name == "TimestampConverter$" and chance(0.35) else data()
    if name.endswith("$"):
        name_of_class = name + ("Key" if on_key else "Value")
    else:
        name_of_class = name
    return {"class": name_of_class, "config": CONFIGS[name](pair), "record": record(pair, on_key)}


def main(count: int) -> None:
    for name in CONFIGS:
        for _ in range(max(count // 4, 25) if name in FEW else count):
            print(json.dumps(question(name), ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
