"""The settings of encryption, and of the keys and certificates of clients."""

from __future__ import annotations

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
