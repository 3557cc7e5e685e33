"""Authentication and roles from a worker's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.http.access.authentication.basic_auth import BasicAuth
from penstock.http.access.authentication.htpasswd import Htpasswd
from penstock.http.access.authentication.principals import Authentication, Forwarded, Tokens
from penstock.http.access.files import ReloadedFile
from penstock.http.access.gate import RequestGate
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.masking import Passwords
from penstock.http.access.roles import Roles

AUTHORIZATION = "penstock.authorization.file"
HTPASSWD = "penstock.authentication.htpasswd"
CERTIFICATES = "penstock.authentication.certificates"
JWKS = "penstock.authentication.oidc.jwks"


def authentication(
    config: Mapping[str, str], environment: Mapping[str, str], key: Callable[[], bytes | None]
) -> Authentication:
    """Return the authentication that the settings define.

    ``key`` returns the present session key. Raises RestSettingError.
    """
    passwords = config.get(HTPASSWD, "").strip()
    return Authentication(
        BasicAuth.of(config, environment),
        Htpasswd(passwords) if passwords else None,
        _tokens(config) if config.get(JWKS, "").strip() else None,
        config.get(CERTIFICATES, "false").strip().lower() == "true",
        Forwarded(key),
    )


def _tokens(config: Mapping[str, str]) -> Tokens:
    from penstock.http.access.authentication.tokens import OidcTokens  # loads much, and most workers need none of it

    return OidcTokens(config)


def gate(config: Mapping[str, str], guard: Authentication, passwords: Passwords = lambda config: ()) -> RequestGate:
    """Raises RestSettingError."""
    path = config.get(AUTHORIZATION, "").strip()
    if not path:
        return RequestGate(passwords=passwords)
    if not guard.is_required:
        raise RestSettingError(
            f"`{AUTHORIZATION}={path}` needs a way to know who asks: `rest.extension.classes`, `{HTPASSWD}`, "
            f"`{CERTIFICATES}` or `{JWKS}`"
        )
    return RequestGate(ReloadedFile(AUTHORIZATION, path, Roles.parse), passwords)
