"""Java's classes that log in at clouds' Kafka services: which of them have a counterpart here, and what others are to
use instead.
"""

from __future__ import annotations

from collections.abc import Mapping

LOGIN_HANDLER, CLIENT_HANDLER = "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"
AWS, AZURE, GCP = "aws", "azure", "gcp"
MSK_IAM = "AWS_MSK_IAM"
_IAM = "software.amazon.msk.auth.iam."
_AZURE = "com.azure.spring.cloud.service.implementation.kafka.KafkaOAuth2AuthenticateCallbackHandler"
_GCP = "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"
LOGIN_HANDLERS: Mapping[str, str] = {f"{_IAM}IAMOAuthBearerLoginCallbackHandler": AWS, _AZURE: AZURE, _GCP: GCP}
"""Of ``sasl.login.callback.handler.class``, with ``sasl.mechanism=OAUTHBEARER``: the extra of Penstock to install."""
CLIENT_HANDLERS: Mapping[str, str] = {f"{_IAM}IAMClientCallbackHandler": AWS}
"""The same of ``sasl.client.callback.handler.class``, with ``sasl.mechanism=AWS_MSK_IAM``."""
IAM_LOGIN = f"{_IAM}IAMLoginModule"
INSTEAD = (
    f"for Amazon MSK use {_IAM}IAMOAuthBearerLoginCallbackHandler, for Azure Event Hubs {_AZURE}, for Google Cloud "
    f"{_GCP}, each with sasl.mechanism=OAUTHBEARER; for others SCRAM-SHA-512, OAUTHBEARER with "
    "sasl.oauthbearer.token.endpoint.url, or a client certificate"
)


def has_counterpart(setting: str, handler: str) -> bool:
    known = {LOGIN_HANDLER: LOGIN_HANDLERS, CLIENT_HANDLER: CLIENT_HANDLERS}.get(setting, {})
    return handler.strip() in known
