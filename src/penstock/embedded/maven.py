"""The repository of jars and the network settings to reach it, by Maven's conventions.

The default is Maven Central. A mirror in the user's ``~/.m2/settings.xml``, the usual proxy variables and
``SSL_CERT_FILE`` are honoured, since Java ignores them.
"""

from __future__ import annotations

import os
import re
import ssl
import urllib.request
import warnings
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

from penstock.embedded.java import Java

CENTRAL = "https://repo1.maven.org/maven2/"


def repository(settings: Path | None = None) -> str:
    """``$PENSTOCK_MAVEN_REPOSITORY``, else the mirror that Maven's ``settings`` name, else Central. Ends in a slash."""
    url = (
        os.environ.get("PENSTOCK_MAVEN_REPOSITORY")
        or mirror(settings or Path.home() / ".m2" / "settings.xml")
        or CENTRAL
    )
    return url.rstrip("/") + "/"


def mirror(settings: Path) -> str | None:
    """The url of the first ``<mirror>`` that covers Central; None without one, or without a readable file."""
    try:
        root = ElementTree.parse(settings).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    for entry in root.iterfind("{*}mirrors/{*}mirror"):
        covered = {word.strip() for word in (entry.findtext("{*}mirrorOf") or "").split(",")}
        if covered & {"*", "external:*", "central"} and "!central" not in covered:
            return (entry.findtext("{*}url") or "").strip() or None
    return None


def jvm_options(scratch: Path, runtime: Java) -> list[str]:
    """System properties with which a JVM uses this process's proxies and certificates; they may name a file in
    ``scratch``.
    """
    options = proxy_options(urllib.request.getproxies())
    # The wheel's Java trusts the public authorities only, not those that this machine's owner has added.
    own = os.environ.get("SSL_CERT_FILE") or runtime.bundled
    if own and (certificates := ssl.create_default_context().get_ca_certs(binary_form=True)):
        store = scratch / "trusted.p12"
        store.write_bytes(trust_store(certificates))
        options += [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=PKCS12"]
    return options


def proxy_options(proxies: dict[str, str]) -> list[str]:
    """Java's properties for the proxies of ``urllib.request.getproxies()``."""
    options = []
    for scheme in ("http", "https"):
        if url := proxies.get(scheme):
            parts = urlsplit(url if "//" in url else f"//{url}")
            options += [f"-D{scheme}.proxyHost={parts.hostname}", f"-D{scheme}.proxyPort={parts.port or 80}"]
    if options and (direct := proxies.get("no")):
        hosts = (host.strip() for host in direct.split(","))
        options.append(
            "-Dhttp.nonProxyHosts=" + "|".join(f"*{host}" if host.startswith(".") else host for host in hosts if host)
        )
    return options


def trust_store(certificates: list[bytes]) -> bytes:
    """A Java trust store (PKCS12, neither encrypted nor sealed, so that it needs no password) of DER ``certificates``.

    A certificate that can't be parsed is left out.
    """
    # Not at the top: the command line imports this package for every command.
    from cryptography.hazmat.primitives.serialization import NoEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
    from cryptography.utils import CryptographyDeprecationWarning
    from cryptography.x509 import load_der_x509_certificate

    trusted = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)  # a serial number of 0, in old authorities
        for i, der in enumerate(certificates):
            with suppress(ValueError):
                trusted.append(PKCS12Certificate(load_der_x509_certificate(der), f"ca-{i}".encode()))
    return serialize_java_truststore(trusted, NoEncryption())


def reason(output: str) -> str:
    """Why Ivy failed, in a few words, from all that it printed."""
    host = re.search(r"UnknownHostException: ([^\s;]+)|Host ([^\s]+) not found", output)
    if host:
        return f"the host {host[1] or host[2]} is not known"
    for pattern in (
        r"(PKIX path [^\n;]+)",
        r"((?:Connection|connect) (?:refused|timed out|reset))",
        r"(HTTP response status: \d+)",
    ):
        if said := re.search(pattern, output):
            return said[1].strip()
    if "not found" in output.lower():
        return "it is not there"
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "Ivy said nothing")
