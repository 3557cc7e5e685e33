"""The settings that Java's producers, consumers and admin clients know: types, importance and defaults of Kafka 4.3.1.

Validation shows them for overrides (``producer.override.*`` and so on) and for a worker's own client settings. A table,
not a parser: each line is name, type, importance, default; no default is null, ``!`` means required, ``""`` the empty
text.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.validators import CaseInsensitiveValidString, Validator, ValidList, between

SECURITY = """
security.protocol STRING MEDIUM PLAINTEXT
security.providers STRING LOW
ssl.protocol STRING MEDIUM TLSv1.3
ssl.provider STRING MEDIUM
ssl.cipher.suites LIST LOW ""
ssl.enabled.protocols LIST MEDIUM TLSv1.2,TLSv1.3
ssl.keystore.type STRING MEDIUM JKS
ssl.keystore.location STRING HIGH
ssl.keystore.password PASSWORD HIGH
ssl.key.password PASSWORD HIGH
ssl.keystore.key PASSWORD HIGH
ssl.keystore.certificate.chain PASSWORD HIGH
ssl.truststore.certificates PASSWORD HIGH
ssl.truststore.type STRING MEDIUM JKS
ssl.truststore.location STRING HIGH
ssl.truststore.password PASSWORD HIGH
ssl.keymanager.algorithm STRING LOW SunX509
ssl.trustmanager.algorithm STRING LOW PKIX
ssl.endpoint.identification.algorithm STRING LOW https
ssl.secure.random.implementation STRING LOW
ssl.engine.factory.class CLASS LOW
sasl.kerberos.service.name STRING MEDIUM
sasl.kerberos.kinit.cmd STRING LOW /usr/bin/kinit
sasl.kerberos.ticket.renew.window.factor DOUBLE LOW 0.8
sasl.kerberos.ticket.renew.jitter DOUBLE LOW 0.05
sasl.kerberos.min.time.before.relogin LONG LOW 60000
sasl.login.refresh.window.factor DOUBLE LOW 0.8
sasl.login.refresh.window.jitter DOUBLE LOW 0.05
sasl.login.refresh.min.period.seconds SHORT LOW 60
sasl.login.refresh.buffer.seconds SHORT LOW 300
sasl.mechanism STRING MEDIUM GSSAPI
sasl.jaas.config PASSWORD MEDIUM
sasl.client.callback.handler.class CLASS MEDIUM
sasl.login.callback.handler.class CLASS MEDIUM
sasl.login.class CLASS MEDIUM
sasl.login.connect.timeout.ms INT LOW
sasl.login.read.timeout.ms INT LOW
sasl.login.retry.backoff.max.ms LONG LOW 10000
sasl.login.retry.backoff.ms LONG LOW 100
sasl.oauthbearer.jwt.retriever.class CLASS MEDIUM org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class CLASS MEDIUM org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope STRING MEDIUM
sasl.oauthbearer.client.credentials.client.id STRING MEDIUM
sasl.oauthbearer.client.credentials.client.secret PASSWORD MEDIUM
sasl.oauthbearer.assertion.algorithm STRING MEDIUM RS256
sasl.oauthbearer.assertion.claim.aud STRING MEDIUM
sasl.oauthbearer.assertion.claim.exp.seconds INT LOW 300
sasl.oauthbearer.assertion.claim.iss STRING MEDIUM
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN MEDIUM false
sasl.oauthbearer.assertion.claim.nbf.seconds INT LOW 60
sasl.oauthbearer.assertion.claim.sub STRING MEDIUM
sasl.oauthbearer.assertion.file STRING MEDIUM
sasl.oauthbearer.assertion.private.key.file STRING MEDIUM
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD MEDIUM
sasl.oauthbearer.assertion.template.file STRING MEDIUM
sasl.oauthbearer.scope.claim.name STRING LOW scope
sasl.oauthbearer.sub.claim.name STRING LOW sub
sasl.oauthbearer.token.endpoint.url STRING MEDIUM
sasl.oauthbearer.jwks.endpoint.url STRING MEDIUM
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG LOW 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG LOW 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG LOW 100
sasl.oauthbearer.clock.skew.seconds INT LOW 30
sasl.oauthbearer.expected.audience LIST HIGH ""
sasl.oauthbearer.expected.issuer STRING HIGH
sasl.oauthbearer.header.urlencode BOOLEAN LOW false
"""
_COMMON = """
client.dns.lookup STRING MEDIUM use_all_dns_ips
send.buffer.bytes INT MEDIUM 131072
reconnect.backoff.ms LONG LOW 50
reconnect.backoff.max.ms LONG LOW 1000
retry.backoff.ms LONG LOW 100
retry.backoff.max.ms LONG LOW 1000
request.timeout.ms INT MEDIUM 30000
metadata.max.age.ms LONG LOW 300000
metrics.sample.window.ms LONG LOW 30000
metrics.num.samples INT LOW 2
metrics.recording.level STRING LOW INFO
metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter
socket.connection.setup.timeout.ms LONG MEDIUM 10000
socket.connection.setup.timeout.max.ms LONG MEDIUM 30000
metadata.recovery.strategy STRING LOW rebootstrap
metadata.recovery.rebootstrap.trigger.ms LONG LOW 300000
config.providers LIST LOW ""
"""
_PRODUCER = """
bootstrap.servers LIST HIGH !
buffer.memory LONG HIGH 33554432
retries INT HIGH 2147483647
acks STRING LOW all
compression.type STRING HIGH none
compression.gzip.level INT MEDIUM -1
compression.lz4.level INT MEDIUM 9
compression.zstd.level INT MEDIUM 3
batch.size INT MEDIUM 16384
partitioner.adaptive.partitioning.enable BOOLEAN LOW true
partitioner.availability.timeout.ms LONG LOW 0
partitioner.ignore.keys BOOLEAN MEDIUM false
linger.ms LONG MEDIUM 5
delivery.timeout.ms INT MEDIUM 120000
client.id STRING MEDIUM ""
receive.buffer.bytes INT MEDIUM 32768
max.request.size INT MEDIUM 1048576
enable.metrics.push BOOLEAN LOW true
max.block.ms LONG MEDIUM 60000
metadata.max.idle.ms LONG LOW 300000
max.in.flight.requests.per.connection INT LOW 5
key.serializer CLASS HIGH !
value.serializer CLASS HIGH !
connections.max.idle.ms LONG MEDIUM 540000
partitioner.class CLASS MEDIUM
interceptor.classes LIST LOW ""
enable.idempotence BOOLEAN LOW true
transaction.timeout.ms INT LOW 60000
transactional.id STRING LOW
transaction.two.phase.commit.enable BOOLEAN LOW false
"""
_CONSUMER = """
bootstrap.servers LIST HIGH !
group.id STRING HIGH
group.instance.id STRING MEDIUM
session.timeout.ms INT HIGH 45000
heartbeat.interval.ms INT HIGH 3000
partition.assignment.strategy LIST MEDIUM {assignors}
enable.auto.commit BOOLEAN MEDIUM true
auto.commit.interval.ms INT LOW 5000
client.id STRING LOW ""
client.rack STRING LOW ""
max.partition.fetch.bytes INT HIGH 1048576
receive.buffer.bytes INT MEDIUM 65536
fetch.min.bytes INT HIGH 1
fetch.max.bytes INT MEDIUM 52428800
fetch.max.wait.ms INT LOW 500
enable.metrics.push BOOLEAN LOW true
auto.offset.reset STRING MEDIUM latest
check.crcs BOOLEAN LOW true
key.deserializer CLASS HIGH !
value.deserializer CLASS HIGH !
default.api.timeout.ms INT MEDIUM 60000
connections.max.idle.ms LONG MEDIUM 540000
interceptor.classes LIST LOW ""
max.poll.records INT MEDIUM 500
max.poll.interval.ms INT MEDIUM 300000
exclude.internal.topics BOOLEAN MEDIUM true
internal.throw.on.fetch.stable.offset.unsupported BOOLEAN LOW false
isolation.level STRING MEDIUM read_uncommitted
allow.auto.create.topics BOOLEAN MEDIUM true
group.protocol STRING HIGH classic
group.remote.assignor STRING MEDIUM
share.acknowledgement.mode STRING MEDIUM implicit
share.acquire.mode STRING MEDIUM BATCH_OPTIMIZED
"""
_ADMIN = """
bootstrap.servers LIST HIGH ""
bootstrap.controllers LIST HIGH ""
client.id STRING MEDIUM ""
receive.buffer.bytes INT MEDIUM 65536
enable.metrics.push BOOLEAN LOW false
connections.max.idle.ms LONG MEDIUM 300000
retries INT LOW 2147483647
default.api.timeout.ms INT MEDIUM 60000
"""


_ASSIGNOR = "class org.apache.kafka.clients.consumer."
_DEFAULTS = {
    "!": NO_DEFAULT,
    '""': "",
    "{assignors}": f"{_ASSIGNOR}RangeAssignor,{_ASSIGNOR}CooperativeStickyAssignor",
}


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


def define_table(config: ConfigDef, table: str, documentation: str = "") -> ConfigDef:
    """Add the lines of a table; ``documentation`` may hold ``{name}``."""
    for line in table.strip().splitlines():
        name, type, importance, *default = line.split(maxsplit=3)
        text = default[0] if default else None
        config.define(
            name,
            ConfigType[type],
            None if text is None else _DEFAULTS.get(text, text),
            importance=Importance[importance],
            documentation=documentation.format(name=name),
        )
    return config


def _client(kind: str, table: str) -> ConfigDef:
    documentation = f"`{{name}}` of Kafka's {kind}s; see Kafka's own documentation of it."
    config = ConfigDef()
    for part in (table, _COMMON, SECURITY):
        define_table(config, part, documentation)
    return config


PRODUCER_SETTINGS = _client("producer", _PRODUCER)
CONSUMER_SETTINGS = _client("consumer", _CONSUMER)
ADMIN_SETTINGS = _client("admin client", _ADMIN)
