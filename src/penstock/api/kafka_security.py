"""Security settings that all of Java's clients have, and workers too. Provisional.

TLS, logins and OAuth tokens; and Java's classes that log in at Kafka services of clouds.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef
from penstock.api.config_tables import define_table
from penstock.api.validators import CaseInsensitiveValidString, Validator, ValidList, between

TLS = """
security.protocol STRING MEDIUM PLAINTEXT
    How to talk to the brokers: `PLAINTEXT` or `SSL`, which is with encryption, and `SASL_PLAINTEXT` or `SASL_SSL` for
    the same with a login by `sasl.mechanism`.
security.providers STRING LOW
    Java classes that provide cryptography. None can run here, so a value is refused.
ssl.protocol STRING MEDIUM TLSv1.3
    The version of TLS that Java begins with. No effect on Kafka clients here: OpenSSL agrees with the broker on the
    newest version that both have.
ssl.provider STRING MEDIUM
    The Java provider of TLS. No effect on a connector's clients here, where TLS is OpenSSL's; refused in the
    configuration of a worker.
ssl.cipher.suites LIST LOW ""
    The cipher suites that may be used, separated by commas. No effect on Kafka clients here, which offer those that
    OpenSSL considers safe.
ssl.enabled.protocols LIST MEDIUM TLSv1.2,TLSv1.3
    The versions of TLS that may be used, separated by commas. No effect on Kafka clients here: OpenSSL's own limits
    apply.
ssl.keystore.type STRING MEDIUM JKS
    The format of the key store file: `JKS`, `PKCS12` or `PEM`. Here the content of the file tells which it is; only a
    file that is not PEM although this says so is refused.
ssl.keystore.location STRING HIGH
    A file with the client's private key and its certificates, for brokers that ask for them.
ssl.keystore.password PASSWORD HIGH
    The password of the key store file. One of PEM needs none.
ssl.key.password PASSWORD HIGH
    The password of the private key, if it is encrypted: the one in the key store file, or that of `ssl.keystore.key`.
ssl.keystore.key PASSWORD HIGH
    The client's private key as PEM text, instead of a key store file; `ssl.keystore.certificate.chain` belongs to it.
ssl.keystore.certificate.chain PASSWORD HIGH
    The client's certificate as PEM text, followed by those of the authorities between it and the root. With it
    `ssl.keystore.location` is not read.
ssl.truststore.certificates PASSWORD HIGH
    The certificates of trusted authorities as PEM text. With it `ssl.truststore.location` is not read.
ssl.truststore.type STRING MEDIUM JKS
    The format of the trust store file: `JKS`, `PKCS12` or `PEM`. Here the content of the file tells which it is; only
    a file that is not PEM although this says so is refused.
ssl.truststore.location STRING HIGH
    A file with the certificates of trusted authorities. Without one, those that the machine trusts count, where Java
    has a list of its own.
ssl.truststore.password PASSWORD HIGH
    The password of the trust store file. One of PEM needs none.
ssl.keymanager.algorithm STRING LOW SunX509
    Which of Java's key managers chooses the client's key. No effect here: there is only the key of the key store.
ssl.trustmanager.algorithm STRING LOW PKIX
    Which of Java's trust managers checks certificates. No effect here, where OpenSSL checks them.
ssl.endpoint.identification.algorithm STRING LOW https
    Whether the certificate of a server has to be for the name it is reached by: `https`, or empty to leave this check
    out.
ssl.secure.random.implementation STRING LOW
    Java's source of random numbers for TLS. No effect on a connector's clients here, which have OpenSSL's; refused in
    the configuration of a worker.
ssl.engine.factory.class CLASS LOW
    A Java class that makes the TLS engine. It can't run here, so a value is refused.
"""


SASL = """
sasl.kerberos.service.name STRING MEDIUM
    With `GSSAPI`: the first part of the principals of the brokers, usually `kafka`. Needed, unless `serviceName` of
    `sasl.jaas.config` says it.
sasl.kerberos.kinit.cmd STRING LOW /usr/bin/kinit
    The program with which Java renews tickets. No effect here, where libkrb5 renews them by itself.
sasl.kerberos.ticket.renew.window.factor DOUBLE LOW 0.8
    The part of a ticket's life after which Java renews it. No effect here, where libkrb5 renews tickets by itself.
sasl.kerberos.ticket.renew.jitter DOUBLE LOW 0.05
    The random part of the time after which Java renews a ticket, so that clients do not all do it at once. No effect
    here, where libkrb5 renews tickets by itself.
sasl.kerberos.min.time.before.relogin LONG LOW 60000
    Milliseconds between two attempts of Java's to renew a ticket. No effect here, where libkrb5 renews tickets by
    itself.
sasl.login.refresh.window.factor DOUBLE LOW 0.8
    With `OAUTHBEARER`: the part of a token's life after which Java gets a new one. No effect here: each client library
    renews tokens by rules of its own, the worker's after 80 % of their life.
sasl.login.refresh.window.jitter DOUBLE LOW 0.05
    With `OAUTHBEARER`: the random part of the time after which Java gets a new token, so that clients do not all do it
    at once. No effect here.
sasl.login.refresh.min.period.seconds SHORT LOW 60
    With `OAUTHBEARER`: seconds that Java uses a token at least before it gets a new one. No effect here.
sasl.login.refresh.buffer.seconds SHORT LOW 300
    With `OAUTHBEARER`: how many seconds before a token ends Java has a new one at the latest. No effect here.
sasl.mechanism STRING MEDIUM GSSAPI
    How clients log in: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER`, `GSSAPI` (Kerberos), or
    `AWS_MSK_IAM`, which becomes `OAUTHBEARER` with tokens of AWS here.
sasl.jaas.config PASSWORD MEDIUM
    The login as a line of a JAAS file: the Java class of the mechanism's login module, which is not run here but tells
    the kind of login, and its options, such as `username` and `password`.
sasl.client.callback.handler.class CLASS MEDIUM
    A Java class that answers for the mechanism. None runs here: only the one of Amazon MSK for `AWS_MSK_IAM` is
    accepted, whose work the extra `aws` does; others are refused.
sasl.login.callback.handler.class CLASS MEDIUM
    A Java class that gets tokens. None runs here: Kafka's own, and those of Amazon MSK, Azure Event Hubs and Google
    Cloud are accepted, whose work the clients and the extras `aws`, `azure` and `gcp` do; others are refused.
sasl.login.class CLASS MEDIUM
    A Java class that does the login, which can't run here. No effect on a connector's clients; refused in the
    configuration of a worker.
sasl.login.connect.timeout.ms INT LOW
    Milliseconds that a connection to the token endpoint may take in Java. No effect here: the worker waits 10 seconds
    for a token, and librdkafka has limits of its own.
sasl.login.read.timeout.ms INT LOW
    Milliseconds that an answer of the token endpoint may take in Java. No effect here: the worker waits 10 seconds for
    a token, and librdkafka has limits of its own.
sasl.login.retry.backoff.max.ms LONG LOW 10000
    The most milliseconds between two requests for a token in Java. No effect here.
sasl.login.retry.backoff.ms LONG LOW 100
    Milliseconds before Java asks the token endpoint again after a failure, at first. No effect here.
"""


_PACKAGE = "org.apache.kafka.common.security.oauthbearer."
JWT_RETRIEVERS = (f"{_PACKAGE}DefaultJwtRetriever", f"{_PACKAGE}ClientCredentialsJwtRetriever")
"""Classes of ``sasl.oauthbearer.jwt.retriever.class`` whose work Penstock's clients do themselves."""
OTHER_RETRIEVERS = f"tokens are requested with the client's name and secret, as by {' and '.join(JWT_RETRIEVERS)}"
"""Reason why other classes are refused."""

_NO_ASSERTIONS = "No effect here: tokens are requested with the client's name and secret."

OAUTHBEARER = f"""
sasl.oauthbearer.jwt.retriever.class CLASS MEDIUM {JWT_RETRIEVERS[0]}
    The Java class that gets tokens. Only Kafka's `DefaultJwtRetriever` and `ClientCredentialsJwtRetriever` can be used
    here.
sasl.oauthbearer.jwt.validator.class CLASS MEDIUM {_PACKAGE}DefaultJwtValidator
    The Java class that checks tokens before they are sent. No effect here, where brokers check them.
sasl.oauthbearer.scope STRING MEDIUM
    What a token is to allow, for the request to the token endpoint, if that asks for it.
sasl.oauthbearer.client.credentials.client.id STRING MEDIUM
    The name of this client at the token endpoint.
sasl.oauthbearer.client.credentials.client.secret PASSWORD MEDIUM
    The secret of this client at the token endpoint.
sasl.oauthbearer.assertion.algorithm STRING MEDIUM RS256
    How assertions, which Java's `JwtBearerJwtRetriever` sends for a token instead of a secret, are signed: `RS256` or
    `ES256`. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.claim.aud STRING MEDIUM
    For whom assertions are, their claim `aud`; usually the token endpoint. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.claim.exp.seconds INT LOW 300
    Seconds that an assertion is valid, for its claim `exp`. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.claim.iss STRING MEDIUM
    Who issues assertions, their claim `iss`; usually the name of this client. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN MEDIUM false
    Whether each assertion has an identifier, the claim `jti`, so that it can't be used twice. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.claim.nbf.seconds INT LOW 60
    How many seconds before it was made an assertion begins to be valid, for its claim `nbf`; for clocks that differ.
    {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.claim.sub STRING MEDIUM
    Whom assertions are about, their claim `sub`; usually the name of this client. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.file STRING MEDIUM
    A file with an assertion that is signed already, so that no key is needed. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.private.key.file STRING MEDIUM
    A PEM file with the private key that signs assertions. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD MEDIUM
    The password of that private key, if it is encrypted. {_NO_ASSERTIONS}
sasl.oauthbearer.assertion.template.file STRING MEDIUM
    A JSON file with more headers and claims for assertions. {_NO_ASSERTIONS}
sasl.oauthbearer.scope.claim.name STRING LOW scope
    The claim in which Java finds what a token allows. No effect here, where brokers read tokens.
sasl.oauthbearer.sub.claim.name STRING LOW sub
    The claim of a token that names the user.
sasl.oauthbearer.token.endpoint.url STRING MEDIUM
    Where tokens are requested, an `http://` or `https://` address. Without one clients make tokens without a signature,
    which brokers accept only where security does not matter.
sasl.oauthbearer.jwks.endpoint.url STRING MEDIUM
    Where the keys that tokens are signed with are found. No effect here, where brokers check signatures.
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG LOW 3600000
    Milliseconds after which Java reads those keys again. No effect here, where brokers check signatures.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG LOW 10000
    The most milliseconds between two attempts to read those keys. No effect here, where brokers check signatures.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG LOW 100
    Milliseconds before Java tries again to read those keys, at first. No effect here, where brokers check signatures.
sasl.oauthbearer.clock.skew.seconds INT LOW 30
    By how many seconds clocks may differ when Java checks whether a token is valid. No effect here, where brokers check
    that.
sasl.oauthbearer.expected.audience LIST HIGH ""
    For whom a token has to be, one of these, separated by commas. No effect here, where brokers check that.
sasl.oauthbearer.expected.issuer STRING HIGH
    Who has to have issued a token. No effect here, where brokers check that.
sasl.oauthbearer.allow.unverified.audience BOOLEAN MEDIUM false
    Whether Java accepts tokens for anybody, where it checks tokens itself (Kafka 4.4). No effect here, where brokers
    check that.
sasl.oauthbearer.allow.unverified.issuer BOOLEAN MEDIUM false
    Whether Java accepts tokens of any issuer, where it checks tokens itself (Kafka 4.4). No effect here, where brokers
    check that.
sasl.oauthbearer.header.urlencode BOOLEAN LOW false
    Whether the client's name and secret are URL-encoded in the request to the token endpoint. No effect here.
"""


LOGIN_HANDLER, CLIENT_HANDLER = "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"
AWS, AZURE, GCP = "aws", "azure", "gcp"
MSK_IAM = "AWS_MSK_IAM"
_IAM = "software.amazon.msk.auth.iam."
_AZURE = "com.azure.spring.cloud.service.implementation.kafka.KafkaOAuth2AuthenticateCallbackHandler"
_GCP = "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"
LOGIN_HANDLERS: Mapping[str, str] = {f"{_IAM}IAMOAuthBearerLoginCallbackHandler": AWS, _AZURE: AZURE, _GCP: GCP}
"""Extras of Penstock to install, by ``sasl.login.callback.handler.class`` with ``sasl.mechanism=OAUTHBEARER``."""
CLIENT_HANDLERS: Mapping[str, str] = {f"{_IAM}IAMClientCallbackHandler": AWS}
"""Extras by ``sasl.client.callback.handler.class`` with ``sasl.mechanism=AWS_MSK_IAM``."""
IAM_LOGIN = f"{_IAM}IAMLoginModule"
INSTEAD = (
    f"for Amazon MSK use {_IAM}IAMOAuthBearerLoginCallbackHandler, for Azure Event Hubs {_AZURE}, for Google Cloud "
    f"{_GCP}, each with sasl.mechanism=OAUTHBEARER; for others SCRAM-SHA-512, OAUTHBEARER with "
    "sasl.oauthbearer.token.endpoint.url, or a client certificate"
)


def has_counterpart(setting: str, handler: str) -> bool:
    """Return whether the runtime does itself what this class, the value of a setting, does in Java."""
    known = {LOGIN_HANDLER: LOGIN_HANDLERS, CLIENT_HANDLER: CLIENT_HANDLERS}.get(setting, {})
    return handler.strip() in known


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
"""Checks that Java makes of security settings besides those of their types."""


def _security() -> ConfigDef:
    config = ConfigDef()
    for table in (TLS, SASL, OAUTHBEARER):
        define_table(config, table)
    return config


SECURITY_SETTINGS = _security()
"""Definitions without ``SECURITY_CHECKS``, which are added where values are validated."""
