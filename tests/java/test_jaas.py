from __future__ import annotations

import pytest

from penstock.java.errors import JaasError
from penstock.java.jaas import LoginModule, login_module, sections

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_options_may_be_quoted_either_way() -> None:
    module, options = login_module(f'{PLAIN} required\n username=\'a b\' password="c;\\"d" extra=1;')
    assert module == PLAIN
    assert options == {"username": "a b", "password": 'c;"d', "extra": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        f"{PLAIN} required username=a",
        f"{PLAIN} required; {PLAIN} required;",
        f"{PLAIN} required username;",
        f"{PLAIN} required username=;",
    ],
)
def test_invalid_login_modules_are_refused(text: str) -> None:
    with pytest.raises(JaasError):
        login_module(text)


def test_a_file_has_sections_and_comments() -> None:
    text = """
    /* first; Other { */ Other { a.B required; };
    Mine { // } not the end
        a.B Sufficient debug=true file="//not/a/comment;{}";
        a.C required
            path=/etc//users; };
    Empty { };
    """
    assert sections(text) == {
        "Other": [LoginModule("a.B", {})],
        "Mine": [
            LoginModule("a.B", {"debug": "true", "file": "//not/a/comment;{}"}),
            LoginModule("a.C", {"path": "/etc//users"}),
        ],
        "Empty": [],
    }


@pytest.mark.parametrize("text", ["{", "A { x required; }", "A { x required }; ", "A x required;", "A { x; };"])
def test_a_file_that_is_broken(text: str) -> None:
    with pytest.raises(JaasError):
        sections(text)
