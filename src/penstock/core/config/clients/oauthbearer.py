"""The settings of logins by OAuth tokens: where tokens come from, what they claim, and how Java checks them."""

from __future__ import annotations

_PACKAGE = "org.apache.kafka.common.security.oauthbearer."
JWT_RETRIEVERS = (f"{_PACKAGE}DefaultJwtRetriever", f"{_PACKAGE}ClientCredentialsJwtRetriever")
"""The classes of ``sasl.oauthbearer.jwt.retriever.class`` whose work Penstock's clients do themselves."""
OTHER_RETRIEVERS = f"tokens are requested with the client's name and secret, as by {' and '.join(JWT_RETRIEVERS)}"
"""Why other classes are refused."""

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
sasl.oauthbearer.header.urlencode BOOLEAN LOW false
    Whether the client's name and secret are URL-encoded in the request to the token endpoint. No effect here.
"""
