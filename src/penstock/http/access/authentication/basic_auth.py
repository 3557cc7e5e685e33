"""Passwords for the REST interface: Java's BasicAuthSecurityRestExtension with its PropertyFileLoginModule.

``rest.extension.classes`` names the extension; a JAAS file, whose section ``KafkaConnect`` names the login module,
names the properties file with a line ``user=password`` per user. The JAAS file is that of the setting
``java.security.auth.login.config``, or of ``-Djava.security.auth.login.config=…`` in the environment's ``KAFKA_OPTS``.
Both files are read once. As in Java, an empty properties file accepts all users, one of several modules suffices, and
requests between workers are exempt: those are signed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from starlette.requests import Request

from penstock.core.model.messages import Refused, Reply
from penstock.http.access.listeners import RestSettingError
from penstock.java.errors import JaasError, PropertiesError
from penstock.java.jaas import sections
from penstock.java.properties import parse_properties

PACKAGE = "org.apache.kafka.connect.rest.basic.auth.extension"
EXTENSION, LOGIN_MODULE = f"{PACKAGE}.BasicAuthSecurityRestExtension", f"{PACKAGE}.PropertyFileLoginModule"
JAAS_FILE, SECTION = "java.security.auth.login.config", "KafkaConnect"

DENIED = Reply(
    401,
    Refused(401, "User cannot access the resource.").reply().body,
    {"WWW-Authenticate": 'Basic realm="Kafka Connect"'},
)


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """A router's guard. ``users`` has one dictionary of passwords by name per login module."""

    users: tuple[Mapping[str, str], ...]

    @classmethod
    def of(cls, config: Mapping[str, str], environment: Mapping[str, str]) -> Self | None:
        """None if the worker's settings name no extension. Raises RestSettingError."""
        named = [each.strip() for each in config.get("rest.extension.classes", "").split(",") if each.strip()]
        for extension in named:
            if extension not in (EXTENSION, EXTENSION.rpartition(".")[2]):
                raise RestSettingError(
                    f"`rest.extension.classes` has {extension}, but extensions in Java can't run here; "
                    f"there is {EXTENSION}"
                )
        if not named:
            return None
        path = config.get(JAAS_FILE) or _of_java_options(environment.get("KAFKA_OPTS", ""))
        if path is None:
            raise RestSettingError(
                f"`rest.extension.classes={EXTENSION}` needs a JAAS file; set `{JAAS_FILE}` to its path, "
                f"or `KAFKA_OPTS` in the environment to -D{JAAS_FILE}=<path>"
            )
        return cls(tuple(_passwords(file) for file in credential_files(_read(JAAS_FILE, path), path)))

    def __call__(self, request: Request) -> Reply | None:
        name, password = credentials(request.headers.get("authorization"))
        return None if any(_lets_in(users, name, password) for users in self.users) else DENIED


def credential_files(jaas: str, path: str) -> list[str]:
    """The properties files that the section KafkaConnect of a JAAS file names. Raises RestSettingError."""
    try:
        modules = sections(jaas).get(SECTION)
    except JaasError as error:
        raise RestSettingError(f"The JAAS file {path} can't be read: {error}") from error
    if modules is None:
        raise RestSettingError(f"The JAAS file {path} has no section {SECTION} {{ …; }};")
    files = []
    for module, options in modules:
        if module != LOGIN_MODULE:
            raise RestSettingError(
                f"The JAAS file {path} names the login module {module}, but modules in Java can't run here; "
                f"there is {LOGIN_MODULE}"
            )
        if not options.get("file", "").strip():
            raise RestSettingError("Property Credentials file must be specified")
        files.append(options["file"])
    if not files:
        raise RestSettingError(f"The section {SECTION} of the JAAS file {path} names no login module")
    return files


def credentials(header: str | None) -> tuple[str | None, str | None]:
    """Name and password in a header ``Authorization``; None and None for whatever is not of that form."""
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None, None
    try:
        padded = encoded + "=" * (-len(encoded) % 4)
        name, colon, password = base64.b64decode(padded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None, None
    return (name, password) if name and colon else (None, None)


def _lets_in(users: Mapping[str, str], name: str | None, password: str | None) -> bool:
    if not users:
        return True
    expected = users.get(name) if name is not None else None
    return (
        expected is not None
        and password is not None
        and hmac.compare_digest(expected.encode("utf-8", "surrogatepass"), password.encode())
    )


def _of_java_options(options: str) -> str | None:
    try:
        words = shlex.split(options)
    except ValueError:
        words = options.split()
    prefix = f"-D{JAAS_FILE}="
    return next((word.removeprefix(prefix) for word in words if word.startswith(prefix)), None)


def _passwords(path: str) -> dict[str, str]:
    try:
        return parse_properties(_read("file", path, "iso-8859-1"))
    except PropertiesError as error:
        raise RestSettingError(f"The credentials file {path} can't be read: {error}") from error


def _read(key: str, path: str, encoding: str = "utf-8") -> str:
    try:
        return Path(path).read_text(encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise RestSettingError(f"The file of `{key}={path}` can't be read: {error}") from None
