"""Tokens for Kafka services of clouds, by the clouds' own libraries, which are extras of Penstock.

Each finds its credentials where all programs of its cloud do: environment, profile, metadata of the machine. Brokers
get them by SASL OAUTHBEARER; Amazon's own mechanism AWS_MSK_IAM is for Java clients, and its brokers take both.
"""

from __future__ import annotations

import base64
import importlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, NamedTuple

import orjson

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.kafka_security import AWS, AZURE, GCP
from penstock.kafka.librdkafka_config import address

_MODULES = {AWS: "aws_msk_iam_sasl_signer", AZURE: "azure.identity", GCP: "google.auth"}
_REGION = re.compile(r"\.kafka(?:-serverless)?\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:amazonaws\.com|api\.aws)")
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Token(NamedTuple):
    text: str
    expires: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class CloudLogin:
    """Login at a cloud's brokers: the cloud, the brokers, and the options of the login module."""

    cloud: str
    servers: str
    options: Mapping[str, str]

    def check(self) -> None:
        """Raises ConfigError if the extra is missing, or if it can't be known where to log in."""
        try:
            importlib.import_module(_MODULES[self.cloud])
        except ImportError as error:
            raise ConfigError(
                f"A login of this kind needs the extra `{self.cloud}`: pip install 'penstock[{self.cloud}]' ({error})"
            ) from error
        if self.cloud == AWS:
            self.region()

    def token(self) -> Token:
        """A new token. Blocks; raises ConnectError."""
        try:
            return {AWS: self._aws, AZURE: self._azure, GCP: self._gcp}[self.cloud]()
        except ConfigError:
            raise
        except Exception as error:
            raise ConnectError(f"No token of {self.cloud} can be had: {error}") from error

    def for_librdkafka(self, _config: str) -> tuple[str, float]:
        """Its ``oauth_cb``."""
        return self.token()

    def region(self) -> str:
        """Return the region from the brokers' names or from the environment. Raises ConfigError."""
        session: Any = importlib.import_module("botocore.session")
        found = _REGION.search(self.servers)
        name = found[1] if found else session.Session().get_config_variable("region")
        if not name:
            raise ConfigError(
                f"bootstrap.servers={self.servers} does not tell the region of Amazon MSK: set the environment "
                "variable AWS_REGION or AWS_DEFAULT_REGION"
            )
        return str(name)

    def _aws(self) -> Token:
        signer: Any = importlib.import_module("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
        region = self.region()
        if role := self.options.get("awsRoleArn"):
            session = self.options.get("awsRoleSessionName", "penstock")
            text, expires = signer.generate_auth_token_from_role_arn(region, role, session)
        elif profile := self.options.get("awsProfileName"):
            text, expires = signer.generate_auth_token_from_profile(region, profile)
        else:
            text, expires = signer.generate_auth_token(region)
        return Token(text, expires / 1000)

    def _azure(self) -> Token:
        identity: Any = importlib.import_module("azure.identity")
        host = address(self.servers.split(",")[0]).rpartition(":")[0]
        with identity.DefaultAzureCredential() as credential:
            found = credential.get_token(f"https://{host}/.default")
        return Token(found.token, float(found.expires_on))

    def _gcp(self) -> Token:
        auth: Any = importlib.import_module("google.auth")
        transport: Any = importlib.import_module("google.auth.transport.requests")
        credentials, _ = auth.default(scopes=[_SCOPE])
        credentials.refresh(transport.Request())
        return google_token(credentials)


def google_token(credentials: Any) -> Token:
    """Return the token in the format of Google's brokers: a header, claims, and the access token instead of a
    signature.
    """
    expires = credentials.expiry.replace(tzinfo=UTC).timestamp()  # it is without a zone there
    subject = getattr(credentials, "service_account_email", None) or getattr(credentials, "account", "")
    claims = {"exp": expires, "iat": time.time(), "iss": "Google", "scope": "kafka", "sub": subject}
    header = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    parts = (orjson.dumps(header), orjson.dumps(claims), credentials.token.encode())
    return Token(".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), expires)
