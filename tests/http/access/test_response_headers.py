"""Headers that every answer carries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from penstock.http.access.listeners import RestSettingError
from penstock.http.access.response_headers import header_rules


def rules(text: str) -> Any:
    return header_rules({"response.http.headers.config": text})


def test_headers_of_every_answer(configured: Callable[..., Any]) -> None:
    text = (
        'add Cache-Control: no-cache,"add Cache-Control: no-store, max-age=0", set X-Frame-Options:DENY, '
        "setDate Expires: 31540000000, add X-Two:1, add X-Two:2, add X-One:1, SET x-one:2, set Content-Type: text/x"
    )
    api = configured({"response.http.headers.config": text})
    for path in ("/connectors", "/nothing"):
        headers = api.get(path).headers
        assert headers.get_list("cache-control") == ["no-cache", "no-store, max-age=0"]
        assert (headers["x-frame-options"], headers["x-one"]) == ("DENY", "2")
        assert headers.get_list("x-two") == ["1", "2"]
        assert headers["content-type"] == "application/json"
        expires = parsedate_to_datetime(headers["expires"])
        assert abs(expires - datetime.now(UTC) - timedelta(milliseconds=31540000000)) < timedelta(minutes=5)


def test_no_rules() -> None:
    assert header_rules({}) == rules("") == rules("  ") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("set", "Invalid format of header config 'set'. Expected: '[action] [header name]:[header value]'"),
        ("add X:1,,add Y:2", "Invalid format of header config ''. Expected: '[action] [header name]:[header value]'"),
        ("put X:1", "Invalid header config action: 'put'. Expected one of [set, add, setDate, addDate]"),
        (
            "set X",
            "Invalid format of header name and header value pair 'X'. Expected: '[header name]:[header value]'",
        ),
        (
            "set X:a:b",
            "Invalid format of header name and header value pair 'X:a:b'. Expected: '[header name]:[header value]'",
        ),
        ("set X Y:1", "Invalid header name 'X Y'. The '[header name]' cannot contain whitespace"),
        ("set :1", "Invalid header name ''. The '[header name]' cannot contain whitespace"),
        ("setDate X:soon", "Invalid header config 'setDate X:soon': a date is given in milliseconds from now"),
    ],
)
def test_wrong_rules(text: str, message: str) -> None:
    with pytest.raises(RestSettingError) as error:
        rules(text)
    assert str(error.value) == message
