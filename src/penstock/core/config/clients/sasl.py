"""The settings of logins: the mechanism, the credentials, Kerberos and how logins are renewed."""

from __future__ import annotations

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
