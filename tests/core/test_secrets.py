"""Secret settings, how they are masked, and masks that clients send back."""

from __future__ import annotations

import json

import pytest

from penstock.core.config.secrets import MASK, MAX_LENGTH, MAX_TEXT, is_secret, masked, restored

SECRETS = """
connection.password
database.password
sasl.jaas.config
producer.override.sasl.jaas.config
value.converter.basic.auth.user.info
value.converter.request.header.Authorization
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
singer.config
dlt.config
dlt.arguments
query.masked
"""
ORDINARY = """
key.converter
name
topics
tokenizer.class
sasl.oauthbearer.token.endpoint.url
ssl.keystore.location
penstock.authorization.file
http.authorization.type
primary.key.fields
key.columns
spark.authenticate
spark.driver.memory
transforms.key.type
database.user
"""


@pytest.mark.parametrize("name", SECRETS.split())
def test_names_of_secrets_are_recognized(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ORDINARY.split())
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


def test_values_of_secrets_are_masked() -> None:
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


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:oracle:thin:app/p@ss@//db:1521/svc?x=a@b", f"jdbc:oracle:thin:{MASK}@//db:1521/svc?x=a@b"),
        ("jdbc:oracle:thin:app/secret@db:1521:sid", f"jdbc:oracle:thin:{MASK}@db:1521:sid"),
        ("jdbc:oracle:thin:@//db:1521/svc", "jdbc:oracle:thin:@//db:1521/svc"),
        ("jdbc:mysql://u:p@ss@db/shop?mail=a@b&password=x", f"jdbc:mysql://{MASK}@db/shop?mail=a@b&password={MASK}"),
        ("jdbc:db2://h:50000/db:password=x;a=b", f"jdbc:db2://h:50000/db:password={MASK};a=b"),
        ("jdbc:sqlserver://h:14;user=me@h;password={a;b};c=d", f"jdbc:sqlserver://h:14;user=me@h;password={MASK};c=d"),
        ("jdbc:teradata://h/USER=u,PASSWORD=p", f"jdbc:teradata://h/USER=u,PASSWORD={MASK}"),
        ("s3a://key:a/b+c@bucket/x@y", f"s3a://{MASK}@bucket/x@y"),
        ("http://u:p@a,http://u:q@b", f"http://{MASK}@a,http://{MASK}@b"),
        ("abfss://container@account/x", "abfss://container@account/x"),
        ("jdbc:postgresql://a:5432,b:5432/db?mail=a@b", "jdbc:postgresql://a:5432,b:5432/db?mail=a@b"),
    ],
)
def test_passwords_in_urls_are_masked(url: str, shown: str) -> None:
    assert masked({"url": url}) == {"url": shown}


def test_json_with_secrets_is_masked_as_a_whole() -> None:
    inner = json.dumps({"oauth": [{"client_secret": "x"}]})
    config = {
        "a": inner,
        "b": json.dumps({"text": inner}),
        "c": '{"table": "t"}',
        "d": '{"password": ',
        "e": "{" * 9999,
    }
    assert masked(config) == {**config, "a": MASK, "b": MASK}


def test_texts_too_long_to_search_are_masked() -> None:
    assert masked({"a": "x" * MAX_LENGTH, "b": "x" * (MAX_LENGTH + 1), "c": "y"}) == {
        "a": "x" * MAX_LENGTH,
        "b": MASK,
        "c": "y",
    }
    assert masked({"x" * (MAX_LENGTH + 1): "y"}) == {"x" * (MAX_LENGTH + 1): MASK}
    many = {str(number): "x" * MAX_LENGTH for number in range(MAX_TEXT // MAX_LENGTH)}
    assert set(masked(many).values()) == {MASK}
    assert masked({**many, "0": "x" * (MAX_TEXT * 2)})["1"] == "x" * MAX_LENGTH
    assert restored(masked(many), many) == many


def test_masks_sent_back_are_replaced_by_old_values() -> None:
    known = {"topic": "t", "password": "p", "url": "x://me:pass@h/db", "odd": "o"}
    shown = masked(known, {"odd"})
    assert restored({**shown, "topic": "u", "more": MASK}, known) == {**known, "topic": "u", "more": MASK}
    assert restored({"password": "new"}, known) == {"password": "new"}
    assert restored({"password": None, "url": f"y://{MASK}@h"}, known) == {"password": None, "url": f"y://{MASK}@h"}
