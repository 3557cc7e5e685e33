"""A Kerberos realm on this machine, and a broker that authenticates users with it.

Its programs are those of MIT Kerberos (Debian: krb5-kdc krb5-admin-server krb5-user libsasl2-modules-gssapi-mit).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.embedded import Broker
from penstock.embedded.ports import free_port
from support.kafka.client import Kafka
from support.waiting import until

REALM = "PENSTOCK.TEST"
MODULE = "com.sun.security.auth.module.Krb5LoginModule"
_PROGRAMS = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # where Debian has a KDC

_CLIENTS = """[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""
_SERVER = """[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
  database_name = {folder}/principals
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
}}
[logging]
kdc = FILE:{folder}/kdc.log
"""

PACKAGES = "PENSTOCK_KERBEROS_PACKAGES"
"""Variable that names a folder with confluent-kafka and gssapi built as docs/security.md describes."""
_DEFAULT_PACKAGES = "/usr/local/lib/penstock-kerberos/site"
_HAS_ALL = "import gssapi; from penstock.kafka.security.tickets import librdkafka_has_gssapi as has; exit(not has())"


def missing() -> str | None:
    """Return why a realm cannot run here, or None."""
    absent = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"not on PATH: {', '.join(absent)} (MIT Kerberos)" if absent else None


def python_path() -> str | None:
    """Return the ``PYTHONPATH`` of clients with Kerberos support, or None if there are none."""
    for folder in ("", os.environ.get(PACKAGES, _DEFAULT_PACKAGES)):
        environment = {**os.environ, "PYTHONPATH": folder}
        if subprocess.run([sys.executable, "-c", _HAS_ALL], env=environment, capture_output=True).returncode == 0:
            return folder
    return None


class Realm:
    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.krb5_conf = folder / "krb5.conf"
        self.krb5_conf.write_text(_CLIENTS.format(realm=REALM, port=self.port))
        (folder / "kdc.conf").write_text(_SERVER.format(realm=REALM, port=self.port, folder=folder))
        self.environment = {"KRB5_CONFIG": str(self.krb5_conf), "KRB5_KDC_PROFILE": str(folder / "kdc.conf")}

    @property
    def log(self) -> str:
        file = self.folder / "kdc.log"
        return file.read_text() if file.exists() else ""

    def keytab(self, *principals: str) -> Path:
        """Create principals, and return their keytab."""
        file = self.folder / f"{principals[0].replace('/', '-')}.keytab"
        for principal in principals:
            self.run("kadmin.local", "-q", f"addprinc -randkey {principal}")
            self.run("kadmin.local", "-q", f"ktadd -k {file} {principal}")
        return file

    def run(self, program: str, *arguments: str) -> None:
        command = [str(shutil.which(program, path=_PATH)), *arguments]
        subprocess.run(command, env={**os.environ, **self.environment}, check=True, capture_output=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        command = [str(shutil.which("krb5kdc", path=_PATH)), "-n"]
        server = subprocess.Popen(command, env={**os.environ, **self.environment}, stderr=subprocess.DEVNULL)
        try:
            until(lambda: "commencing operation" in self.log, "the KDC has started")
            yield
        finally:
            server.terminate()
            server.wait()


@contextmanager
def realm(folder: Path) -> Iterator[Realm]:
    made = Realm(folder)
    made.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
    with made.running():
        yield made


def login(bootstrap: str, keytab: Path, principal: str, prefix: str = "") -> dict[str, str]:
    """Return the login settings in the form of Java's clients."""
    options = f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}"'
    settings = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f"{MODULE} required {options};",
    }
    return {f"{prefix}{name}": value for name, value in settings.items()}


class KerberosBroker(Kafka):
    """A broker; ``kerberos`` is the address of its Kerberos listener, where only ``connect`` has any rights."""

    def __init__(self, broker: Broker, kerberos: str) -> None:
        super().__init__(broker.bootstrap)
        self.kerberos = kerberos


@contextmanager
def kerberos_broker(realm: Realm, environment: Mapping[str, str]) -> Iterator[KerberosBroker]:
    """Start the broker. ``environment`` has to be that of this process, where Java reads its options."""
    assert f"-Djava.security.krb5.conf={realm.krb5_conf}" in environment["JAVA_TOOL_OPTIONS"]
    port, service = free_port(), f"kafka/localhost@{REALM}"
    options = f'useKeyTab=true storeKey=true keyTab="{realm.keytab(service)}" principal="{service}"'
    extra = {
        "listeners": f"KERBEROS://127.0.0.1:{port}",
        "advertised.listeners": f"KERBEROS://localhost:{port}",
        "listener.security.protocol.map": "KERBEROS:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.kerberos.gssapi.sasl.jaas.config": f"{MODULE} required {options};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:connect",
    }
    with Broker(extra=extra) as broker:
        yield KerberosBroker(broker, f"localhost:{port}")
