# ruff: noqa: E501  (tables of cases)
"""Prints the cases that Oracle.java answers, one JSON object a line; see README.md. Always the same ones: the seed is
fixed.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from case_values import (
    DATA,
    DAY,
    DOUBLES,
    FLOATS,
    JSON,
    PRIMITIVES,
    RANDOM,
    STRING,
    integers,
    schema_and_values,
    tagged,
)


def emit(op: str, **parts: Any) -> None:
    print(json.dumps({"op": op, **parts}))


def encoded(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def writing() -> None:
    for schema, values in schema_and_values():
        for value in values:
            for config in ({}, {"schemas.enable": "false"}):
                emit("from", converter=JSON, config=config, schema=schema, value=value)
            emit("from", converter=JSON, config={"decimal.format": "numeric", "replace.null.with.default": "false"}, schema=schema, value=value)  # fmt: skip
            emit("text", schema=schema, value=value)
            if '"bytes"' not in json.dumps(schema):
                emit("string", schema=schema, value=value)
                emit("from", converter=STRING, config={}, schema=schema, value=value)
    for _ in range(150):
        value = tagged()
        emit("from", converter=JSON, config={"schemas.enable": "false"}, schema=None, value=value)
        emit("from", converter=JSON, config={}, schema=None, value=value)
        emit("string", schema=None, value=value)
        emit("text", schema=None, value=value)
    for value in ({"t": "decimal", "v": "1.2"}, {"t": "date", "v": 0}, {"t": "bytes", "v": "YQ=="}):
        emit("from", converter=JSON, config={}, schema=None, value=value)
        emit("text", schema=None, value=value)
    emit("from", converter=JSON, config={}, schema=None, value={"t": "map", "v": [[{"t": "int64", "v": 1}, None], [None, {"t": "string", "v": "x"}]]})  # fmt: skip
    wrong_scale = {"type": "bytes", "name": DATA + "Decimal", "version": 1, "parameters": {"scale": "3"}}
    emit("from", converter=JSON, config={}, schema=wrong_scale, value="1.5")
    for name in ("Short", "Integer", "Long", "Float", "Double", "Boolean", "ByteArray"):
        kind = {"Short": "int16", "Integer": "int32", "Long": "int64", "Float": "float", "Double": "double", "Boolean": "boolean", "ByteArray": "bytes"}[name]  # fmt: skip
        values = {"int16": integers(16), "int32": integers(32), "int64": integers(64), "float": FLOATS, "double": DOUBLES, "boolean": [True, False], "bytes": ["", "AP8="]}[kind]  # fmt: skip
        for value in [*values, None]:
            emit("from", converter=f"{PRIMITIVES}{name}Converter", schema={"type": kind, "optional": True}, value=value)
        emit("from", converter=f"{PRIMITIVES}{name}Converter", schema={"type": "string"}, value="x")
        for size in range(10):
            emit("to", converter=f"{PRIMITIVES}{name}Converter", value=encoded(bytes(range(size))))
            emit("to", converter=f"{PRIMITIVES}{name}Converter", value=encoded(b"\x80" * size))
        emit("to", converter=f"{PRIMITIVES}{name}Converter", value=None)
    for charset in (
        "UTF-8",
        "ISO-8859-1",
        "US-ASCII",
        "UTF-16",
        "UTF-16LE",
        "UTF-16BE",
        "windows-1252",
        "Shift_JIS",
        "Cp850",
        "KOI8-R",
    ):
        for text in ("", "a", "é", "日本", "Привет", "€"):
            emit(
                "from", converter=STRING, config={"converter.encoding": charset}, schema={"type": "string"}, value=text
            )
        for data in (b"", b"abc", b"\xc3\xa9", b"\xe9x", b"\xff\xfeab", b"\xfe\xffab", b"\x80\x81"):
            emit("to", converter=STRING, config={"converter.encoding": charset}, value=encoded(data))


READABLE = [
    "", " ", "null", "true", " false ", "0", "-0", "1", "-1", "007", "-007", "00.5", "1.5", "-0.0", "1e5", "1E-7", "1e400", "-1e400",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
    "123456789012345678901234567890", '"a"', '"\\u00e9\\n\\/\\""', '"\\ud83d\\ude00"', "[]", "{}", "[1,2.5,null,\"x\",[true]]",
    '{"b":1,"a":2,"zeile":{"y":1,"x":[{}]}}', '{"a":1,"a":2}', "1 x", '"a"b', '{"a":1}}', '{"AaAa":1,"BBBB":2,"AaBB":3}',
    "{" + ",".join(f'"key{i}":{i}' for i in range(30)) + "}", "[1.0, 100.0, 1e10, 12345678901.5]", " [ 1 , 2 ] ",
]  # fmt: skip
UNREADABLE = [
    "not json", "{", "[", "[1,", "[1", '{"a"', '{"a"}', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', "[1,]", "[,1]", "1x", "nul", "nullx",
    "NaN", "Infinity", "-Infinity", "+1", ".5", "5.x", "-", "-a", '"\x01"', '"abc', '"\\q"', '"\\u12"', "'a'", "{a:1}", "{1:2}", "]", "}",
    ",", ":", "tru", "truefalse", "[1 2]", '{"a" 1}', '{"a":1 "b":2}', "#", "/* x */1", "1.5.5", "abc-def", "@x", "True", "\x00",
    "[1}", '{"a":1]', "hello", "1,2", "[nope]", '{"a":nope}', "1.e5", "0x10", "[1, 2", "{}x{", "12abc",
]  # fmt: skip


def reading() -> None:
    for text in READABLE + UNREADABLE:
        emit("to", converter=JSON, config={"schemas.enable": "false"}, value=encoded(text))
        if text in READABLE:
            emit("to", converter=JSON, config={}, value=encoded(f'{{"schema":null,"payload":{text}}}'))
            emit("to", converter=JSON, config={}, value=encoded(text))
    emit("to", converter=JSON, config={}, value=None)
    payloads = [
        "null", "5", "-1", "300", "70000", "3000000000", "1.9", "-1.9", "12.340", "1e30", "12345678901234567890123", '"x"', '"YQ=="', '"!!"',
        '"BNI="', "true", "[]", "[1,2]", '["a",null]', "[[1,2],[17,3]]", '{"b":1,"a":2}', '{"f0":1,"f1":"x"}', '{"f1":"x","f0":1,"z":3}',
        '{"f0":"x","f1":5}', '{"f0":null}', "{}", '"YQ"', '"YQ=="', '"YQ==YQ=="', '" YWFh YQ== "', '""', "[[1]]", "[1,[2]]", "86400001",
    ]  # fmt: skip
    schemas: list[Any] = [
        {"type": kind} for kind in ("int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "bytes")
    ]
    schemas += [
        {"type": "bytes", "name": DATA + "Decimal", "version": 1, "parameters": {"scale": "2"}},
        {"type": "int32", "name": DATA + "Date"}, {"type": "int32", "name": DATA + "Time"},
        {"type": "array", "items": {"type": "int32"}}, {"type": "array", "items": {"type": "string", "optional": True}, "optional": True},
        {"type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}},
        {"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}},
        {"type": "map", "keys": {"type": "int64"}, "values": {"type": "int32", "optional": True}},
        {"type": "struct", "fields": [{"type": "int32", "field": "f0"}, {"type": "string", "field": "f1", "optional": True}]},
        {"type": "struct", "fields": [{"type": "int8", "field": "f0", "default": 7}, {"type": "string", "field": "f1"}], "name": "n"},
        {"type": "string", "default": "d", "optional": True, "doc": "x", "version": 2, "name": "s", "parameters": {"b": "1", "a": "2"}},
    ]  # fmt: skip
    for schema in schemas:
        for payload in payloads:
            if schema.get("name", "").endswith("Date") and payload in ("3000000000", "86400001"):
                continue
            emit(
                "to", converter=JSON, config={}, value=encoded(f'{{"schema":{json.dumps(schema)},"payload":{payload}}}')
            )
    emit("to", converter=JSON, config={"replace.null.with.default": "false"}, value=encoded('{"schema":{"type":"string","default":"x","optional":true},"payload":null}'))  # fmt: skip
    for text in ("1709212455123", "-1", "1.5", "null", '"x"'):
        emit(
            "to",
            converter=JSON,
            config={},
            value=encoded(f'{{"schema":{{"type":"int64","name":"{DATA}Timestamp"}},"payload":{text}}}'),
        )
    for schema_text in [
        "{}", "5", "[]", '"string"', '{"type":5}', '{"type":"x"}', '{"type":"array"}', '{"type":"array","items":null}',
        '{"type":"array","items":5}', '{"type":"map"}', '{"type":"map","keys":null,"values":null}', '{"type":"map","keys":{"type":"string"}}',
        '{"type":"map","keys":{"type":"string"},"values":null}', '{"type":"struct"}', '{"type":"struct","fields":{}}',
        '{"type":"struct","fields":[1]}', '{"type":"struct","fields":[{"type":"string"}]}', '{"type":"struct","fields":[{"field":"a"}]}',
        '{"type":"struct","fields":[{"type":"string","field":"a"},{"type":"string","field":"a"}]}',
        '{"type":"struct","fields":[{"type":"string","field":""}]}', '{"type":"string","default":5}', '{"type":"string","default":null}',
        '{"type":"string","default":null,"optional":true}', '{"type":"string","optional":"x","version":1.5,"name":5,"doc":7,"parameters":5}',
        '{"type":"string","parameters":{"a":1}}', '{"type":"string","parameters":{}}', '{"type":"string","version":12345678901}',
        '{"type":"int8","default":300}', '{"type":"double","default":"x"}', '{"type":"struct","fields":[],"default":{}}',
        '{"type":"array","items":{"type":"int32"},"default":[1,2]}', '{"type":"string","extra":1}', '{"optional":true,"type":"string"}',
    ]:  # fmt: skip
        emit("to", converter=JSON, config={}, value=encoded(f'{{"schema":{schema_text},"payload":null}}'))
    for text in ('{"schema":{"type":"string"},"payload":"x","z":1}', '{"payload":"x","schema":{"type":"string"}}', '{"schema":{"type":"string"}}',
                 '{"schema":{"type":"string"},"payload":"x"} trailing', '{"schema":{"type":"string"},"payload":"x","payload":"y"}',
                 '{ "schema" : {"type":"string"}, "payload" : "x" }'):  # fmt: skip
        emit("to", converter=JSON, config={}, value=encoded(text))
    content = '{"type":"struct","fields":[{"field":"a","type":"int32"}]}'
    for text in ('{"a":1}', "", "null", '{"schema":null,"payload":{"a":1}}', "5", '{"b":1}'):
        emit("to", converter=JSON, config={"schema.content": content}, value=encoded(text))
    for text in ("", " ", "null", "x", '{"type":"x"}'):
        emit("to", converter=JSON, config={"schema.content": text}, value=encoded('{"a":1}'))


LITERALS = [
    "", " ", "a", " a ", "null", " null ", "null,", "true", "false", "true}", "TRUE", "0", "1", "-1", "+5", "127", "128", "-128", "-129", "32767",
    "32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "123456789012345678901234567890", "1.0", "1.5", "-2.50", "3.14159265358979", "1e3", "1e-3", "1e10", "1e20", "1e50", "1e400", "1.5e39",
    "1.", ".5", "-.5", "1..2", "1,2", "42}", "42 ", " 42", "4 2", "0x10", "1_000", "NaN", "Infinity", "12:34", "--1", "1-2", "1e", "1f",
    "2019-08-23", "2019-08-23T14:34:54.346Z", "14:34:54.346Z", "2019-13-45", "2019-08-23T14:34:54.346", "2019-08-23 14:34:54",
    "14\\:34\\:54.346Z", "2019-08-23T14\\:34\\:54.346Z", "1234567890", "12-34-5678", "9999-12-31", "14:34:54",
    "[]", "[ ]", "[1,2,3]", "[1, 2.5]", "[1,300,70000,5000000000]", "[true,false]", '["a","b"]', "[a,b]", '["a", b]', "[1,null]", "[null]",
    "[null,null]", '[1,"a"]', "[[1],[2]]", "[[1],[\"a\"]]", "[1,2", "[1,2,]", "[,1]", "[1 2]", "[1]x", "[1],", '["x]"]', '["a\\"b"]', '["2019-08-23"]',
    '["14:34:54.346Z"]', "[2019-08-23, 2019-08-24]", "[14:34:54.346Z]", "[1.5,1e50]", "[123456789012345678901234567890]", "[-1,+2]", "[ 1 , 2 ]",
    "{}", "{ }", '{"a":1}', '{"a":1,"b":2.5}', '{"a":1 "b":2}', '{"a":null}', '{"a":null,"b":1}', "{1:2}", "{1:2,300:4}", "{a:1}", '{"a"}', '{"a":}',
    '{"a":1', '{"a":1,', '{,"a":1}', '{null:1}', '{"a":[1,2],"b":[3]}', '{"a":{"b":1}}', '{"a":"x","b":1}', '{"a":true}', "{true:false}",
    '{"k":"v"} ', ' {"k":"v"}', '{"k" : "v" , "l" : "w"}', '{"t":"14:34:54.346Z"}', '{"2019-08-23":1}', "{14:34:54.346Z:1}",
    '"quoted"', '"', '""', '"a', 'a"b', "a:b", "a,b", "a\\,b", "\\", "\\\\", "[\\]", '["\\\\"]', "é", "[é]", '["é"]', "١٢", "C:\\x", "{\"a\":1}{", "[1][2]",
    "text with spaces", "key=value", "http://x/y?z=1", "2019", "1.2.3.4", "\t1\t", "\n", "[\n1,\n2\n]", "{\"a\": [null]}", "[[]]", "[{}]", "[true,null]",
    "[1.0,2]", "[9223372036854775807,1.5]", "{1.5:2}", '["",""]', '{"":""}', "\u00a01", "-", "+", "[-]", "1e99999999999",
]  # fmt: skip


def parsing() -> None:
    emit("parse", values=LITERALS)
    emit("header", values=[encoded(text) for text in LITERALS])
    alphabet = ["[", "]", "{", "}", ",", ":", '"', "1", "2.5", "a", " ", "null", "true", "\\", "2019-08-23", "-", "300"]
    for _ in range(20):
        emit(
            "parse",
            values=["".join(RANDOM.choice(alphabet) for _ in range(RANDOM.randrange(1, 10))) for _ in range(20)],
        )


def _is_beyond_python(target: str, schema: Any, value: Any) -> bool:
    """Years after 9999, and errors of Java that are no errors of Connect."""
    text = str(value["v"] if schema is None and value else value)
    if target in ("Date", "Timestamp"):
        return text in ("5000000000", "123456789012345678901", "1e40", "1.0E30", "-1.0E30", "Infinity", "300000")
    return target == "Decimal" and not text.replace(".", "").replace("e", "").lstrip("-").isdecimal()


def converting() -> None:
    targets = [
        "Boolean",
        "Byte",
        "Short",
        "Integer",
        "Long",
        "Float",
        "Double",
        "List",
        "Map",
        "Date",
        "Time",
        "Timestamp",
        "Decimal",
    ]
    inputs: list[tuple[Any, Any]] = [(None, {"t": "string", "v": text}) for text in (
        "1", "-1", "300", "70000", "5000000000", "1.9", "1e3", "true", "false", "x", "", "[1,2]", "123456789012345678901", "1e40", " 1", "0", "NaN",
    )]  # fmt: skip
    inputs += [({"type": "int64"}, value) for value in (0, 1, 300, 70000, 5000000000, -1)]
    inputs += [({"type": "double"}, value) for value in ("0.0", "1.9", "-1.9", "1.0E30", "NaN", "Infinity", "-1.0E30")]
    inputs += [({"type": "boolean"}, True), ({"type": "string"}, "x")]
    inputs += [
        ({"type": "int32", "name": DATA + "Date", "version": 1}, 5 * DAY),
        ({"type": "int32", "name": DATA + "Time", "version": 1}, 5000),
    ]
    inputs += [
        ({"type": "int64", "name": DATA + "Timestamp", "version": 1}, value) for value in (1709212455123, -1, DAY)
    ]
    inputs += [({"type": "bytes", "name": DATA + "Decimal", "version": 1, "parameters": {"scale": "2"}}, "12.34")]
    inputs += [({"type": "array", "items": {"type": "int32"}}, [1, 2])]
    inputs += [({"type": "struct", "fields": [{"field": "a", "type": "int32"}]}, {"a": 1}), (None, None)]
    for schema, value in inputs:
        for target in targets:
            if not _is_beyond_python(target, schema, value):
                emit("convert", target=target, schema=schema, value=value)


def dialects() -> None:
    patterns = [
        "(.*)-t[0-9]+", "a|b", "^abc$", "a.c", "a.*", "[a-c]+", "[^a-c]+", "[a-z&&[^b-d]]+", "[a-c[x-z]]+", "[]a]+", "[a-]+", "[\\w-]+", "\\d+", "\\D+", "\\w+",
        "\\W+", "\\s+", "\\p{Alpha}+", "\\p{Lu}+", "\\P{Lu}+", "\\p{L}+", "\\p{IsAlphabetic}+", "\\p{Punct}+", "\\pL+", "\\Qa.c\\E", "\\Qa.c", "(?i)ABC",
        "a(?i)b|C", "(?i:a)B", "(?<n>a)\\k<n>", "(a)\\1", "(a)\\11", "(?:ab)+", "a{2}", "a{2,}", "a{1,2}", "a?", "a+?", "a*+", "(?=a).*", "(?!a).*", "(?<=a)b", ".*(?<!a)b",
        "(?>a|ab)c", "\\u0061", "\\x61", "\\x{61}", "\\061", "\\t", "a\\.c", "\\\\", "a#b", "(?x)a b # c", "(?s)a.c", "(?m)^a$", "\\Aa\\z", "a\\Z", "a$", "a\\b.*", "\\Ba", "\\R", "\\h+",
        "\\v+", "\\e", "\\cA", "é", "[é-ü]+", "\\$", "[$]", "[.]", "[a&&b]", "[a&b]+", "[^\\d]+", "[\\p{L}&&[^a]]+", "", "()", "(|a)", "a||b", "(?-i)a", "((a)(b))",
        "*a", "a**", "(", ")", "a)", "[a", "[", "a{", "a{x", "a{2", "a{2,1}", "\\", "\\y", "(?<1a>x)", "(?<a", "(?<a>x)(?<a>y)", "\\k<x>", "(?z)", "[z-a]", "\\p{Foo}", "\\p{", "(?P<n>a)", "\\1(a)",
        "+", "?", "a++b", "{", "}", "]", "a{,3}", "\\x6", "\\u006", "(?", "(?<", "\\c", "[a-\\d]", "\\0", "\\08", "[[:alpha:]]",
    ]  # fmt: skip
    texts = [
        "",
        "a",
        "abc",
        "a.c",
        "ABC",
        "aB",
        "aa",
        "ab",
        "my-t12",
        "x9_",
        "éa",
        "a\nc",
        "a\n",
        "a\r\n",
        "$",
        "b",
        "Abc",
        "aaa",
        "a b",
        "\t",
        "\\",
        "aab",
        "-",
        "]",
    ]
    for pattern in patterns:
        emit("match", pattern=pattern, values=texts)
        emit("replace", pattern=pattern, replacement="<$0>", values=texts[:10])
    for replacement in (
        "$1",
        "$2",
        "${n}",
        "${x}",
        "\\$1",
        "$",
        "\\",
        "$x",
        "${",
        "${1}",
        "${}",
        "$12",
        "$10",
        "a\\\\b",
        "x",
    ):
        emit("replace", pattern="(?<n>a)(b)?", replacement=replacement, values=["xaby", "aa", "none"])
    formats = [
        "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss.SSSX", "yyyyMMdd", "yyyyMMddHHmmss", "dd/MM/yy", "d.M.yyyy", "EEE, d MMM yyyy HH:mm:ss Z",
        "EEEE MMMM dd yyyy", "hh:mm a", "KK:mm a", "kk:mm", "G yyyy", "y", "yy", "yyy", "yyyyy", "YYYY-'W'ww-u", "D yyyy", "w W F", "S", "SSSSSS", "z", "zzzz", "Z", "X", "XX", "XXX",
        "''", "'o''clock'", "h 'o''clock'", "M", "MM", "MMM", "MMMM", "L", "LLL", "LLLL", "E", "u", "HHmm", "mm:ss.S", "yyyy", "yyyyMM", "'", "n", "b", "'abc", "XXXX", "yyyy-ww", "yyyy-MM-W-E", "yyyy-MM-F-E",
        "yyyy-MM-dd HH:mm:ss z", "MM/dd/yyyy", "dd-MMM-yyyy", "yyyy-DDD", "HH:mm:ss.SSS'Z'", "yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy年MM月dd日", "",
    ]  # fmt: skip
    moments = [
        0,
        1,
        -1,
        1709212455123,
        1735603200000,
        951782400000,
        -12219292800001,
        -12219292800000,
        -62135769600000,
        -99999999999999,
        253402300799999,
        946684800000,
        1700000000007,
    ]
    inputs = [
        "2024-02-29", "2024-02-29 13:14:15", "2024-02-29T13:14:15.123Z", "2024-02-29T13:14:15.123+0200", "20240229", "20240229131415", "29/02/24", "29.2.2024", "1.1.70",
        "Thu, 29 Feb 2024 13:14:15 +0100", "Thursday February 29 2024", "01:14 PM", "12:00 AM", "24:00", "AD 2024", "BC 44", "2024", "24", "99", "2024-W09-4", "60 2024", "9 5 5", "123", "UTC", "GMT",
        "GMT+02:00", "PST", "+0530", "-08", "Z", "+05:30", "'", "o'clock", "3 o'clock", "2", "Feb", "FEBRUARY", "Thu", "4", "1314", "14:15.9", "202402", "2024-13-45", "2024-2-9", " 2024-02-29", "2024-02-29x",
        "x", "", "2024-", "2024-09", "2024-02-5-Thu", "2024-02-5-4", "2024-02-29 13:14:15 PST", "02/29/2024", "29-Feb-2024", "2024-060", "13:14:15.123Z", "2024-02-29T13:14:15+02:00", "2024年02月29日",
        "0000-00-00", "-5", "1582-10-10", "1500-02-29", "99999-01-01", "2023-02-29", "2024-02-29 25:61:61",
    ]  # fmt: skip
    for pattern in formats:
        emit("format", pattern=pattern, values=moments[:6] if "F" in pattern else moments)
        if pattern not in ("yy", "dd/MM/yy"):  # their century depends on the day
            emit("date", pattern=pattern, values=[text for text in inputs if pattern != "HHmm" or len(text) < 14])


def surrogates() -> None:
    for text in ("\ud800x", "x\udc00", "\ud800", "😀", "a😀b\x1f"):
        for config in ({}, {"schemas.enable": "false"}):
            emit("from", converter=JSON, config=config, schema={"type": "string", "doc": "😀"}, value=text)
            emit(
                "from",
                converter=JSON,
                config=config,
                schema=None,
                value={"t": "map", "v": [[{"t": "string", "v": text}, None]]},
            )
        emit("from", converter=STRING, schema=None, value={"t": "string", "v": text})
    for escape in ('"\\ud800"', '"\\ud83d\\ude00"', '"\\ude00\\ud83d"'):
        emit("to", converter=JSON, config={"schemas.enable": "false"}, value=encoded(escape))


writing()
surrogates()
reading()
parsing()
converting()
dialects()
