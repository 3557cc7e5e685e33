"""Which settings are secrets, how they are masked, and what comes of a mask that is sent back."""

from __future__ import annotations

import pytest

from penstock.core.config.secrets import MASK, is_secret, masked, restored

SECRETS = """
connection.password
database.password
sasl.jaas.config
producer.override.sasl.jaas.config
value.converter.basic.auth.user.info
ssl.keystore.key
listeners.https.ssl.key.password
aws.secret.access.key
aws_access_key_id
api.key
azure.account.key
option.sfToken
spark.hadoop.fs.s3a.secret.key
spark.authenticate.secret
connection.string
gcp.credentials.json
"""
ORDINARY = """
key.converter
name
topics
tokenizer.class
sasl.oauthbearer.token.endpoint.url
ssl.keystore.location
primary.key.fields
key.columns
spark.authenticate
spark.driver.memory
transforms.key.type
database.user
"""


@pytest.mark.parametrize("name", SECRETS.split())
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ORDINARY.split())
def test_other_names(name: str) -> None:
    assert not is_secret(name)


def test_masking() -> None:
    config = {
        "topic": "t",
        "password": "p",
        "odd": "x",
        "reference": "a-${file:/x:y}",
        "url": "jdbc:x://me:pass@h/db",
        "other.url": "jdbc:x://h/db?user=me&ssl_Password=pass;a=b",
        "empty.password": "",
    }
    assert masked(config, {"odd"}) == {
        "topic": "t",
        "password": MASK,
        "odd": MASK,
        "reference": MASK,
        "url": f"jdbc:x://{MASK}@h/db",
        "other.url": f"jdbc:x://h/db?user=me&ssl_Password={MASK};a=b",
        "empty.password": "",
    }


def test_what_was_masked_comes_back() -> None:
    known = {"topic": "t", "password": "p", "url": "x://me:pass@h/db", "odd": "o"}
    shown = masked(known, {"odd"})
    assert restored({**shown, "topic": "u", "more": MASK}, known) == {**known, "topic": "u", "more": MASK}
    assert restored({"password": "new"}, known) == {"password": "new"}
    assert restored({"password": None, "url": f"y://{MASK}@h"}, known) == {"password": None, "url": f"y://{MASK}@h"}
