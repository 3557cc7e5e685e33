from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError, SerializationError
from penstock.api.schema import FLOAT32, INT64, OPTIONAL_STRING, STRING, struct
from penstock.pipeline.converters import SimpleHeaderConverter, StringConverter


def converter(**settings: str) -> StringConverter:
    subject = StringConverter()
    subject.configure({name.replace("_", "."): value for name, value in settings.items()}, is_key=False)
    return subject


def written(schemas, values, **settings):
    n = len(values)
    return converter(**settings).from_connect_batch(["t"] * n, [()] * n, schemas, values)


def read(*data, **settings):
    return converter(**settings).to_connect_batch(["t"] * len(data), [()] * len(data), list(data))


def test_texts_are_written_as_they_are():
    assert written([STRING] * 3, ["a", "", "é"]) == [b"a", b"", "é".encode()]


def test_nulls_stay_null():
    assert written([OPTIONAL_STRING] * 2, ["a", None]) == [b"a", None]
    assert written([None] * 2, [None, None]) == [None, None]
    assert read(None, None) == ([OPTIONAL_STRING] * 2, [None, None])
    assert read(b"a", None) == ([OPTIONAL_STRING, OPTIONAL_STRING], ["a", None])


def test_each_value_is_printed_by_its_own_schema():
    row = struct(("x", FLOAT32))
    assert written([row, INT64, None], [{"x": 6e13}, 5, {"a": [1, None]}]) == [
        b"Struct{x=6.0000001E13}",
        b"5",
        b"{a=[1, null]}",
    ]


def test_bytes_that_are_no_text_become_replacement_characters():
    assert read(b"a", b"\xff") == ([OPTIONAL_STRING] * 2, ["a", "\ufffd"])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"),
        (b"\xed\xa0", "\ufffd"),
        (b"a\xed\xa0b", "a\ufffdb"),
        (b"\xed\x9f\xbf\xc0\x80", "\ud7ff\ufffd\ufffd"),
        (b"\xf4\x90\x80\x80", "\ufffd" * 4),
    ],
)
def test_surrogates_in_utf_8_are_one_character_each(data, text):
    assert read(data)[1] == read(data, b"x")[1][:1] == [text]
    assert SimpleHeaderConverter().to_connect_header("t", "h", data) == (STRING, text)


def test_half_of_a_surrogate_pair_is_a_question_mark():
    assert written([STRING] * 2, ["\ud800x", "\ud83d\ude00"]) == [b"?x", "😀".encode()]


@pytest.mark.parametrize(("charset", "data"), [("ISO-8859-1", b"\xe9?"), ("UTF-16", b"\xfe\xff\x00\xe9\x20\xac")])
def test_other_character_sets(charset, data):
    assert written([STRING], ["é€"], converter_encoding=charset) == [data]


@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("UTF-16", b"\xfe\xff\xff\xfd\0x"),
        ("UTF-16LE", b"\xfd\xffx\0"),
        ("UTF-32", b"\0\0\xff\xfd\0\0\0x"),
        ("UTF-32LE", b"\xfd\xff\0\0x\0\0\0"),
    ],
)
def test_half_of_a_surrogate_pair_is_a_replacement_character_where_there_is_one(charset, data):
    assert written([STRING, STRING], ["\ud800x", ""], converter_encoding=charset) == [data, b""]
    assert read(data, converter_encoding=charset)[1] == ["\ufffdx"]


@pytest.mark.parametrize("charset", ["nope", "idna", "unicode_escape", "base64"])
def test_an_unknown_character_set_is_refused(charset):
    with pytest.raises(SerializationError, match=f"Unsupported encoding {charset}"):
        converter(converter_encoding=charset)


def test_configured_for_headers():
    subject = StringConverter()
    subject.configure_header({"converter.encoding": "ISO-8859-1"})
    assert subject.from_connect_header("t", "h", STRING, "é") == b"\xe9"
    assert subject.to_connect_header("t", "h", b"\xe9") == (OPTIONAL_STRING, "é")


def test_its_type_is_one_of_three():
    settings = {"converter.type": "nope"}
    with pytest.raises(ConfigError, match="String must be one of: key, value, header"):
        StringConverter.config_def().parse(settings)
