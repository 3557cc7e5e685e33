"""Settings of any plugin that name files: they have to be in the allowed folders, whatever is before their names."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Kind
from penstock.core.config.permissions.files import PATHS, names_path
from penstock.core.config.permissions.rules import Permissions
from penstock.plugins import Plugins
from penstock.settings import WorkerSettings
from penstock.worker.configuration.permissions import WorkerPermissions
from support.permissions import CATALOG, FILE, limited_to, problems

pytestmark = pytest.mark.security

KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required"
OUTSIDE = [
    ("producer.override.ssl.keystore.location", "/etc/worker.jks"),
    ("consumer.override.ssl.truststore.location", "/etc/passwd"),
    ("admin.override.SSL.KEYSTORE.LOCATION ", "/etc/passwd"),
    ("consumer.override.ssl.ca.location", "/etc/passwd"),
    ("consumer.override.ssl.certificate.location", "relative.pem"),
    ("consumer.override.ssl.crl.location", "/etc/passwd"),
    ("producer.override.https.ca.location", "file:/etc/passwd"),
    ("producer.override.sasl.oauthbearer.assertion.private.key.file", "/etc/ssl/private/key.pem"),
    ("producer.override.sasl.oauthbearer.assertion.file", "/etc/passwd"),
    ("producer.override.sasl.oauthbearer.assertion.template.file", "../etc/passwd"),
    ("consumer.override.sasl.oauthbearer.jwks.endpoint.url", "file:///etc/passwd"),
    ("consumer.override.sasl.oauthbearer.token.endpoint.url", "FILE:/etc/passwd"),
    ("consumer.override.sasl.oauthbearer.token.endpoint.url", "url:file:/etc/passwd"),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS} useKeyTab=true keyTab="/etc/krb5.keytab" principal="a@B";'),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS} useKeyTab=true keyTab="FILE:/etc/krb5.keytab";'),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS} useTicketCache=true ticketCache="/tmp/krb5cc_0";'),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS} ticketCache="DIR:/tmp/krb5cc";'),
    ("consumer.override.sasl.jaas.config", 'x.KeyStoreLoginModule required keyStoreURL="file:/etc/x.jks";'),
    ("consumer.override.sasl.jaas.config", 'x.OAuth required oauth.ssl.truststore.location="/etc/passwd";'),
    ("consumer.override.sasl.jaas.config", 'x.OAuth required a="jar:file:/etc/x.jar!/y";'),
    ("consumer.override.sasl.jaas.config", "x.Login required \"keyTab\"='/etc/krb5.keytab';"),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS} // \r keyTab="/etc/krb5.keytab"\n;'),
    ("consumer.override.sasl.jaas.config", 'x.Login required a="\n keyTab=\'/etc/krb5.keytab\' b=" c="";'),
    ("value.converter.schema.registry.ssl.keystore.location", "/etc/worker.jks"),
    ("key.converter.schema.registry.ssl.truststore.location", "/etc/passwd"),
    ("value.converter.sasl.jaas.config", f'{KERBEROS} keyTab="/etc/krb5.keytab";'),
    ("value.converter.schema.registry.url", "http://h:1,file:/etc/passwd"),
    ("transforms.a.ssl.truststore.location", "/etc/passwd"),
    ("transforms.a.lookup.file", "/etc/passwd"),
    ("source.cluster.ssl.truststore.location", "/etc/passwd"),
    ("target.producer.ssl.keystore.location", "/etc/passwd"),
    ("database.ssl.keystore", "/etc/passwd"),
    ("database.ssl.truststore", "/etc/passwd"),
    ("database.sslkey", "/etc/passwd"),
    ("database.sslrootcert", "/etc/passwd"),
    ("schema.history.internal.producer.ssl.keystore.location", "/etc/passwd"),
    ("schema.history.internal.file.filename", "/etc/passwd"),
    ("mongodb.ssl.keystore", "/etc/passwd"),
    ("elastic.https.ssl.keystore.location", "/etc/passwd"),
    ("connect.hdfs.keytab", "/etc/krb5.keytab"),
    ("gcs.credentials.path", "/etc/passwd"),
    ("keyfile", "/etc/passwd"),
    ("bucket.url", "file:/etc"),
    ("bucket.url", "jar:nested:/etc/x.jar!/y"),
    ("sslTrustStoreLocation", "/etc/passwd"),
    ("oracle.wallet.location", "/etc"),
    ("gcp.credentials.file.path", "/etc/passwd"),
    ("gcs.key.file.path", "../etc/passwd"),
    ("token.file.name", "~/token"),
    ("gcpCredentialsFilePath", "/etc/passwd"),
    ("keyFileName", "/etc/passwd"),
    ("aws.credentials.profile.path", "/etc/passwd"),
    ("database.passfile", "/etc/passwd"),
    ("secret.file", "/etc/passwd"),
    ("git.credentials.path", "/etc/passwd"),
    ("http.ssl.ca.path", "/etc/passwd"),
    ("tls.dir", "/etc"),
    ("key.store", "/etc/x.jks"),
    ("trust_store", "store.jks"),
    ("database.ssl.keystore", "memory"),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS}\r\n keyTab="/etc/krb5.keytab"\r\n;'),
    ("consumer.override.sasl.jaas.config", f'{KERBEROS} // a\r\n keyTab="/etc/krb5.keytab";'),
    ("consumer.override.sasl.jaas.config", f"{KERBEROS} a='\r\n' keyTab='x';"),
    ("consumer.override.ssl.truststore.location", "http://../../etc/passwd"),
    ("database.ssl.keystore", "-----BEGIN ../../etc/passwd"),
]


@pytest.mark.parametrize(("key", "value"), OUTSIDE)
def test_a_file_outside_is_refused_whatever_the_setting_is_of(key: str, value: str, tmp_path: Path) -> None:
    config = {"connector.class": FILE, "file": str(tmp_path / "x"), key: value}
    found = problems(limited_to([str(tmp_path)]), **config)
    assert list(found) == [key]
    assert "`penstock.paths.allowed` of the worker" in found[key]
    runs_a_command = "sasl.kerberos" in key
    assert problems(Permissions(), **config) == {} or runs_a_command


@pytest.mark.parametrize("name", ["ssl.keystore.location", "ssl.truststore.location"])
def test_files_inside_the_folders_are_allowed_and_links_out_of_them_are_not(name: str, tmp_path: Path) -> None:
    (tmp_path / "store.pem").write_text("x")
    (tmp_path / "link.pem").symlink_to("/etc/passwd")
    for prefix in ("consumer.override.", "value.converter.schema.registry.", "source.cluster."):
        config: Any = {"connector.class": FILE, "file": str(tmp_path / "x")}
        allowed = limited_to([str(tmp_path)])
        assert problems(allowed, **config, **{prefix + name: f"{tmp_path}/store.pem"}) == {}
        assert list(problems(allowed, **config, **{prefix + name: f"{tmp_path}/link.pem"})) == [prefix + name]
        assert list(problems(allowed, **config, **{prefix + name: f"{tmp_path}/../x"})) == [prefix + name]


@pytest.mark.parametrize("part", ["ssl.", "tls-key.", "credentials.path."])
def test_a_long_name_is_judged_by_its_end_and_soon(part: str) -> None:
    began = time.monotonic()
    assert not names_path(part * 50_000 + "!", "/etc/passwd")
    assert names_path(part * 50_000 + "ssl.truststore.location", "/etc/passwd")
    assert time.monotonic() - began < 5


def test_an_escape_of_java_leads_nowhere_else(tmp_path: Path) -> None:
    """Java reads ``\\056`` in quotes as a dot."""
    key = "consumer.override.sasl.jaas.config"
    jaas = f'{KERBEROS} useKeyTab=true keyTab="{tmp_path}/\\056\\056/\\056\\056/etc/krb5.keytab";'
    found = problems(limited_to([str(tmp_path)]), **{"connector.class": FILE, "file": f"{tmp_path}/x", key: jaas})
    assert list(found) == [key]


HONEST = {
    "consumer.override.sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required '
    'username="/a" password="s/e\\\\cret";',
    "producer.override.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName=a;",
    "producer.override.ssl.keystore.key": "-----BEGIN PRIVATE KEY-----/+",
    "producer.override.ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE-----/+",
    "producer.override.ssl.keystore.type": "PEM",
    "producer.override.ssl.key.password": "/secret",
    "producer.override.ssl.endpoint.identification.algorithm": "https",
    "consumer.override.sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
    "transforms.a.renames": "file:path,a:b",
    "transforms.a.spec": "file:string",
    "transforms.a.topic.format": "/${topic}",
    "offset-syncs.topic.location": "source",
    "http.api.path": "/v1/items",
    "topics.dir": "/topics",
    "oauth2.token.url": "https://h/token",
    "filename": "orders.csv",
    "keyfile": '{"type": "service_account", "path": "/x"}',
    "database.ssl.key": "-----BEGIN PRIVATE KEY-----",
    "file.format": "a/b",
    "password": "file/x",
    "aws.secret.location": "us-east-1/orders",
    "access.token.location": "header/x",
    "http.ssl.path": "/metrics",
    "key.store": "memory",
    "profileName": "a/b",
    "aws.profile.name": "a/b",
    "partition.field.name": "a/b",
    "source.cluster.sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required\r\n'
    'username="a"\r\npassword="b/c"; // the login\r\n',
}  # fmt: skip


@pytest.mark.parametrize("key", HONEST)
def test_what_names_no_file_is_not_taken_for_one(key: str, tmp_path: Path) -> None:
    config = {"connector.class": FILE, "file": f"{tmp_path}/x", key: HONEST[key]}
    assert problems(limited_to([str(tmp_path)]), **config) == {}


def test_every_setting_of_the_built_in_plugins_whose_name_looks_like_a_file_has_been_judged() -> None:
    """A new one has to be in one of the lists, or here."""
    no_files = {
        "offset-syncs.topic.location",  # source or target
        "singer.tap", "singer.target", "dlt.source", "dlt.python",  # programs have lists of their own
        "path", "checkpoint.location", "file",  # by connector, see PATHS
    }  # fmt: skip
    words = ("file", "path", "location", "folder", "dir", "keytab", "cert", "store", "key")
    seen, unjudged = set(), set()
    for plugin in Plugins().catalog.of_kind(*Kind):
        for name in plugin.config_def().keys:
            if any(name.casefold().endswith(word) for word in words):
                seen.add(name)
                known = names_path(name.casefold(), "/x") or name in PATHS.get(plugin.java_name, {})
                if not known and name not in no_files:
                    unjudged.add(name)
    assert {"schema.registry.ssl.keystore.location", "database.sslrootcert"} <= seen
    assert unjudged <= {"ssl.keystore.key", "schema.registry.ssl.keystore.key", "errors.deadletterqueue.context.key"}


def test_a_file_is_checked_again_where_clients_are_made(tmp_path: Path) -> None:
    worker = {
        "bootstrap.servers": "h:1", "offset.storage.file.filename": str(tmp_path / "offsets"),
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "penstock.paths.allowed": str(tmp_path),
        "producer.ssl.truststore.location": "/etc/worker.pem",
    }  # fmt: skip
    permissions = WorkerPermissions.of(WorkerSettings.standalone_of(worker), Plugins())
    config = {"connector.class": FILE, "name": "c", "file": f"{tmp_path}/x", "topic": "t"}
    permissions.check_overrides(CATALOG, config)
    permissions.check(CATALOG, config)
    config["producer.override.ssl.truststore.location"] = "/etc/passwd"
    for check in (permissions.check_overrides, permissions.check):
        with pytest.raises(ConfigError, match=r"^producer\.override\.ssl\.truststore\.location: /etc/passwd is not in"):
            check(CATALOG, config)
