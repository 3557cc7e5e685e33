from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError
from penstock.java.jaas import parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_options_may_be_quoted_either_way():
    module, options = parse_jaas(f'{PLAIN} required\n username=\'a b\' password="c;\\"d" extra=1;')
    assert module == "PlainLoginModule"
    assert options == {"username": "a b", "password": 'c;"d', "extra": "1"}


@pytest.mark.parametrize(
    "text", ["", "nonsense", f"{PLAIN} required username=a", f"{PLAIN} required; {PLAIN} required;"]
)
def test_what_is_no_login_module_is_refused_without_showing_it(text: str):
    with pytest.raises(ConfigError, match=r"Invalid value \[hidden\] for configuration sasl.jaas.config"):
        parse_jaas(text)
