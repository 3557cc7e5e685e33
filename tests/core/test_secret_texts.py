"""Secrets that are recognized by how they look, in configurations and texts."""

from __future__ import annotations

import json
import random
import time

import pytest

from penstock.core.config.secret_texts import hidden
from penstock.core.config.secrets import MASK, MAX_LENGTH, is_secret, masked, passwords_of, without_secrets

pytestmark = pytest.mark.security
S = "canary"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{S}\n-----END RSA PRIVATE KEY-----"
SHOWN = [
    f"Login failed: Password = {S};",
    f"password={S}",
    f"connect with user=me, password={S}",
    f"pwd:  {S}1234",
    f'{{"password": "{S}"}}',
    f'{{"password" : "{S}\\"x"}}',
    f"{{'client_secret': '{S}'}}",
    json.dumps({"inner": json.dumps({"token": S})}),
    json.dumps({"a": json.dumps({"b": json.dumps({"password": f'x" {S}'})})}),
    f'{{"tokens": ["{S}", "{S}-2"]}}',
    json.dumps({"tokens": [f"{S}-{number}" for number in range(140)]}, indent=2),
    f"db.pass={S}",
    f"tokens=1234-{S}, --tokens {S}",
    f"db.pwd={S}",
    f"userPass={S}",
    f"-Djavax.net.ssl.trustStorePassword={S} -cp x",
    f"java --db-password {S} --x",
    f"<dbPassword>{S}</dbPassword>",
    f"https://account.blob.core.windows.net/c?sv=1&sig={S}%3D&se=2",
    f"https://b.s3.amazonaws.com/k?X-Amz-Credential={S}&X-Amz-Signature={S}",
    f"https://{S}@sentry.example.com/42",
    "redis://canary0123456789abcd@cache:6379/0",
    f"AccountName=a;AccountKey={S};EndpointSuffix=x",
    f"Authorization: Bearer {S}",
    f"headers: {{'Authorization': 'Basic {S}'}}",
    f"authorization={S}",
    f"CREATE USER u IDENTIFIED BY {S};",
    f"create user u identified by '{S}'",
    f"ALTER ROLE u WITH PASSWORD '{S}'",
    f"ALTER ROLE u WITH PASSWORD 'it''s {S}' VALID",
    f"CREATE USER u IDENTIFIED BY 'it\\'s {S}'",
    f"CREATE USER u IDENTIFIED BY '{S}\\' REQUIRE SSL",
    f"ALTER ROLE u WITH PASSWORD '{S}",
    f"params: {{password => {S}, user => u}}",
    f"u%3Da%26password%3D{S}",
    f"registry user.info=u:{S}",
    f"X-Api-Key: {S}",
    f"Cookie: session={S}; other={S}",
    "bearer canary0123456789ABCDEF",
    PEM,
    PEM.replace("\n", "\\n"),
    f"-----BEGIN PRIVATE KEY-----\n{S} cut off",
    f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{S};x";',
    f'sasl.jaas.config=x.ScramLoginModule   required password="{S}" ;',
    f"sasl.jaas.config={S}",
    f'{{"sasl.jaas.config":"x.PlainLoginModule required password=\\"{S}\\";"}}',
]
KEPT = [
    "A failure is identified by its time, and a user by 'name'",
    "Unrecognized token 'canary': was expecting (JSON String, Number, Array, Object or token 'null')",
    "Unexpected token: end of input",
    "Invalid value null for configuration ssl.key.password: It must not be null",
    "Missing required configuration \"database.password\" which has no default value.",
    "basic.auth.credentials.source=URL",
    "sasl.oauthbearer.token.endpoint.url=https://idp/oauth/token",
    "key.converter=org.apache.kafka.connect.json.JsonConverter",
    "primary.key.fields=id, compass=north, bypass=true",
    "password is wrong, and the token has expired",
    "Basic authentication failed for user me",
    "abfss://container0123456789@account.dfs.core.windows.net/x",
    "https://host:8443/path?mail=a@b",
    "model used 17 tokens: 5 more than max_tokens=4096, prompt_tokens = 12",
    '{"max_tokens": 4096, "completion_tokens":17}',
    "llm --max-tokens 100 --x",
    "sasl.password = null",
    "where token = ? and secret is null",
    "password == null",
    "ssh://git@host/x",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
]  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    shown = without_secrets(text)
    assert S not in shown
    assert MASK in shown
    assert without_secrets(shown) == shown
    assert S not in str(masked({"some.setting": text})["some.setting"])


@pytest.mark.parametrize("text", KEPT)
def test_other_texts_stay(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    ["AKIAABCDEFGHIJKLMNOP", f"ghp_{'a1' * 18}", "xoxb-123456789012-abcdef", "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln"],
)
def test_tokens_of_a_known_form(text: str) -> None:
    assert without_secrets(f"with {text} at x") == f"with {MASK} at x"
    assert text in passwords_of(f"with {text} at x")


def test_json_stays_json() -> None:
    document = json.dumps(
        {"password": "x", "pin.secret": 12, "tokens": ["a", "b"], "config": {"api_key": 'a"b'}, "n": 1}
    )
    shown = json.loads(without_secrets(document))
    assert shown == {"password": MASK, "pin.secret": MASK, "tokens": [MASK], "config": {"api_key": MASK}, "n": 1}


@pytest.mark.parametrize(
    "name", ["db.pass", "db.pwd", "dbPwd", "userPass", "pwd", "url.sig", "http.cookie", "ssl_pass"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["bypass", "compass", "design", "passive.mode", "signature.algorithm", "pass.through", "ai.max.tokens"]
)
def test_names_of_other_settings(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    "value",
    [
        json.dumps([{"password": S}]),
        json.dumps([{"name": "password", "value": S}]),
        json.dumps({"headers": [{"key": "Authorization", "value": S}]}),
    ],
)
def test_lists_of_json_with_secrets_are_masked_as_a_whole(value: str) -> None:
    assert masked({"settings": value}) == {"settings": MASK}
    assert masked({"settings": '["orders", "lines"]'}) == {"settings": '["orders", "lines"]'}


def test_a_long_text_is_searched_in_pieces() -> None:
    text = f"{'x' * 99} password={S} " * 2000
    assert len(text) > 3 * MAX_LENGTH
    assert S not in without_secrets(text)


HARD = [
    *("password", '"', "key=", "://a", "-----BEGIN PRIVATE KEY-----", "x-", 'secret="', "eyJ" + "a" * 999, "bearer "),
    *("--", "LoginModule required ", "a" * 999, "secret=[", "<password>", "authorization: ", "secret: ", "token  "),
    *("\\", "a+", "@", '["', '"pwd":["a",', 'secret=\\\\"', 'secret=\\\\\\\\"'),
]


def test_no_text_takes_long() -> None:
    chosen = random.Random(1)
    for part in HARD:
        for text in (
            part * (MAX_LENGTH // len(part)),
            "".join(chosen.choices([part, *HARD[:12]], k=9999))[:MAX_LENGTH],
        ):
            began = time.thread_time()
            hidden(text, MASK)
            assert time.thread_time() - began < 2, text[:50]
