"""The security settings that all of Java's clients have, and workers too."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef
from penstock.api.validators import CaseInsensitiveValidString, Validator, ValidList, between
from penstock.core.config.clients.oauthbearer import OAUTHBEARER
from penstock.core.config.clients.sasl import SASL
from penstock.core.config.clients.tables import define_table
from penstock.core.config.clients.tls import TLS

_LIST = ValidList()
SECURITY_CHECKS: Mapping[str, Validator] = {
    "sasl.login.refresh.buffer.seconds": between(0, 3600),
    "sasl.login.refresh.min.period.seconds": between(0, 900),
    "sasl.login.refresh.window.factor": between(0.5, 1.0),
    "sasl.login.refresh.window.jitter": between(0.0, 0.25),
    "sasl.oauthbearer.assertion.algorithm": CaseInsensitiveValidString("ES256", "RS256"),
    "sasl.oauthbearer.assertion.claim.exp.seconds": between(0, 86400),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": between(0, 3600),
    "sasl.oauthbearer.expected.audience": _LIST,
    "security.protocol": CaseInsensitiveValidString("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "ssl.cipher.suites": _LIST,
    "ssl.enabled.protocols": _LIST,
}
"""What Java checks of security settings beyond their types."""


def _security() -> ConfigDef:
    config = ConfigDef()
    for table in (TLS, SASL, OAUTHBEARER):
        define_table(config, table)
    return config


SECURITY_SETTINGS = _security()
"""Without ``SECURITY_CHECKS``, which are added where values are validated."""
