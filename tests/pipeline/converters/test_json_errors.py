"""Texts that are no JSON: the cause is what Jackson says."""

from __future__ import annotations

import pytest

from penstock.api.errors import DataError
from pipeline.converters.json_values import converter, read

PLACE = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: "
JSON_ERRORS = {
    "an exponent beyond those of BigDecimal": (
        b'{"a":1e99999999999999999999}',
        "com.fasterxml.jackson.core.JsonParseException: Malformed numeric value (1e99999999999999999999)\n at "
        f"{PLACE}28]",
    ),
    "more digits than Jackson reads": (
        b"[%b]" % (b"1" * 1001),
        "com.fasterxml.jackson.core.exc.StreamConstraintsException: Number value length (1001) exceeds the maximum "
        "allowed (1000, from `StreamReadConstraints.getMaxNumberLength()`)",
    ),
    "more digits than Python reads": (
        b"-" + b"1" * 5000,
        "com.fasterxml.jackson.core.exc.StreamConstraintsException: Number value length (5000) exceeds the maximum "
        "allowed (1000, from `StreamReadConstraints.getMaxNumberLength()`)",
    ),
    "more levels than Jackson reads": (
        b'{"[[":' + b"[" * 1500 + b"]" * 1500 + b"}",
        "com.fasterxml.jackson.core.exc.StreamConstraintsException: Document nesting depth (1001) exceeds the maximum "
        "allowed (1000, from `StreamReadConstraints.getMaxNestingDepth()`)",
    ),
    "more levels than are read here": (b"[" * 990 + b"]" * 990, "The JSON is nested too deeply"),
    "a byte that begins nothing": (
        b'"\xc3\xa9\xff"',
        f"com.fasterxml.jackson.core.JsonParseException: Invalid UTF-8 start byte 0xff\n at {PLACE}5]",
    ),
    "a byte that continues nothing": (
        b'"\xc3\xa9\xe2\x82x"',
        f"com.fasterxml.jackson.core.JsonParseException: Invalid UTF-8 middle byte 0x78\n at {PLACE}7]",
    ),
    "the end of a text instead of a byte": (
        b'"\xc3"',
        f"com.fasterxml.jackson.core.JsonParseException: Invalid UTF-8 middle byte 0x22\n at {PLACE}4]",
    ),
    "half of a surrogate pair in UTF-8": (
        b'["\xed\xa0\xbd\xed\xb8\x80"]',
        "com.fasterxml.jackson.core.JsonParseException: Invalid UTF-8: Illegal surrogate character 0xd83d\n at "
        f"{PLACE}6]",
    ),
    "the same in a name, which is decoded at its end": (
        b'{"\xed\xa0\xbd\xed\xb8\x80":1}',
        "com.fasterxml.jackson.core.JsonParseException: Invalid UTF-8: Illegal surrogate character 0xd83d\n at "
        f"{PLACE}10]",
    ),
    "half of a surrogate pair in a name": (
        b'{"\\ud83dx":1}',
        "com.fasterxml.jackson.core.JsonParseException: Broken surrogate pair in field name: expected '\\' to start "
        f"low surrogate, got 0x78\n at {PLACE}9]",
    ),
    "two first halves in a name": (
        b'{"\\ud83d\\ud83d":1}',
        "com.fasterxml.jackson.core.JsonParseException: Broken surrogate pair in field name: expected low surrogate, "
        f"got 0xD83D\n at {PLACE}15]",
    ),
    "the second half alone in a name": (
        b'{"\\ude00":1}',
        f"com.fasterxml.jackson.core.JsonParseException: Unexpected low surrogate in field name: 0xde00\n at {PLACE}9]",
    ),
    "a name without an end": (
        b'{"abc',
        f"com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input in field name\n at {PLACE}6]",
    ),
    "a control character in a name": (
        b'{"a\x01":1}',
        "com.fasterxml.jackson.core.JsonParseException: Illegal unquoted character ((CTRL-CHAR, code 1)): has to be "
        f"escaped using backslash to be included in name\n at {PLACE}4]",
    ),
    "an escape that there is not": (
        b'["a\\x"]',
        f"com.fasterxml.jackson.core.JsonParseException: Unrecognized character escape 'x' (code 120)\n at {PLACE}5]",
    ),
    "an escape without an end": (
        b'["a\\u',
        "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input in character escape sequence\n at "
        f"{PLACE}6]",
    ),
}


@pytest.mark.parametrize("case", JSON_ERRORS)
def test_the_cause_is_what_jackson_says(case):
    data, message = JSON_ERRORS[case]
    for records in ([data], [b"{}", data]):
        with pytest.raises(DataError, match=r"^Converting byte") as caught:
            read(converter(schemas_enable="false"), *records)
        assert str(caught.value.__cause__) == message
