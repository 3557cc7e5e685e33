"""A broker with access control, for tests: its open listener is the administrator's, the others want to know who comes.

A user's password is its name. Nobody has any right but those that a test grants.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.embedded import Broker
from penstock.embedded.ports import free_port
from support.certificates import PASSWORD, Authority, jks_trust_store, pkcs12_key_store, pkcs12_trust_store
from support.kafka.client import READ_SECONDS, Kafka, answered
from support.waiting import until

SECURITY = "org.apache.kafka.common.security"
PLAIN_USERS = ("plain", "nobody")


class Secured(Kafka):
    def __init__(self, broker: Broker, sasl_port: int, tls_port: int, folder: Path, authority: Authority) -> None:
        super().__init__(broker.bootstrap)
        self.sasl, self.tls = f"localhost:{sasl_port}", f"localhost:{tls_port}"
        own = authority.identity("tls-client")
        (folder / "key.pem").write_text(own.key_pem() + own.certificate_pem)
        (folder / "trust.pem").write_text(authority.certificate_pem)
        self._keys = {"PEM": folder / "key.pem", "PKCS12": pkcs12_key_store(folder / "key.p12", own, authority)}
        self._trust = {
            "PEM": folder / "trust.pem",
            "PKCS12": pkcs12_trust_store(folder / "trust.p12", authority),
            "JKS": jks_trust_store(folder / "trust.jks", authority),
        }

    def login(self, mechanism: str, user: str, store: str) -> dict[str, str]:
        """Settings of a client that logs in and trusts the broker by a store of this type."""
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        return {
            "bootstrap.servers": self.sasl,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{SECURITY}.{module} required username="{user}" password="{user}";',
            **self._trusting(store),
        }

    def certificate(self, store: str) -> dict[str, str]:
        """Settings of a client that shows its certificate: ``User:CN=tls-client``."""
        return {
            "bootstrap.servers": self.tls,
            "security.protocol": "SSL",
            "ssl.keystore.location": str(self._keys[store]),
            "ssl.keystore.password": PASSWORD,
            "ssl.keystore.type": store,
            **self._trusting(store),
        }

    def _trusting(self, store: str) -> dict[str, str]:
        settings = {"ssl.truststore.location": str(self._trust[store]), "ssl.truststore.type": store}
        return settings if store == "PEM" else {**settings, "ssl.truststore.password": PASSWORD}

    def add_user(self, name: str | None = None) -> str:
        """Add a user that logs in with SCRAM-SHA-512; return its name."""
        name = name or f"user-{uuid.uuid4().hex[:8]}"
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        wanted = [UserScramCredentialUpsertion(name, info, name.encode())]
        answered(lambda: self.admin.alter_user_scram_credentials(wanted)[name].result())
        until(lambda: self._known(name), f"the broker knows {name}", READ_SECONDS)
        return name

    def _known(self, user: str) -> bool:
        try:
            answered(lambda: self.admin.describe_user_scram_credentials([user])[user].result())
        except KafkaException as e:
            if e.args[0].code() == KafkaError.RESOURCE_NOT_FOUND:
                return False
            raise
        return True

    def grant(self, principal: str, resource: ResourceType, name: str, *operations: AclOperation) -> None:
        """Grant operations on resources whose names begin with ``name``."""
        kind = ResourcePatternType.PREFIXED
        if resource is ResourceType.BROKER:
            kind = ResourcePatternType.LITERAL
        rights = [
            AclBinding(resource, name, kind, principal, "*", operation, AclPermissionType.ALLOW)
            for operation in operations
        ]
        for right in rights:
            answered(lambda right=right: self.admin.create_acls([right])[right].result())
            until(lambda right=right: self._granted(right), f"the broker knows of {right}", READ_SECONDS)

    def _granted(self, right: AclBinding) -> bool:
        kind, principal, host = right.resource_pattern_type, right.principal, right.host
        wanted = AclBindingFilter(
            right.restype, right.name, kind, principal, host, right.operation, right.permission_type
        )
        return bool(answered(lambda: self.admin.describe_acls(wanted).result()))


@contextmanager
def secured_broker(folder: Path) -> Iterator[Secured]:
    authority = Authority.make()
    sasl_port, tls_port = free_port(), free_port()
    users = " ".join(f'user_{user}="{user}"' for user in PLAIN_USERS)
    store = pkcs12_key_store(folder / "broker.p12", authority.identity("broker"), authority)
    trust = pkcs12_trust_store(folder / "broker-trust.p12", authority)
    extra = {
        "listeners": f"SASL://127.0.0.1:{sasl_port},TLS://127.0.0.1:{tls_port}",
        "advertised.listeners": f"SASL://localhost:{sasl_port},TLS://localhost:{tls_port}",
        "listener.security.protocol.map": "SASL:SASL_SSL,TLS:SSL",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl.plain.sasl.jaas.config": f"{SECURITY}.plain.PlainLoginModule required {users};",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{SECURITY}.scram.ScramLoginModule required;",
        "listener.name.tls.ssl.client.auth": "required",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "auto.create.topics.enable": "false",
    }
    with Broker(extra=extra) as broker:
        yield Secured(broker, sasl_port, tls_port, folder, authority)
