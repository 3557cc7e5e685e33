"""Documentation of a worker's settings, a sentence or two each, for ``penstock help`` and the reference."""

from __future__ import annotations

from dataclasses import replace

from penstock.api.config import ConfigDef

_CLIENTS = "For the worker's own Kafka clients and connectors' admin clients"
_KEY = "The key with which workers sign requests to each other (KIP-507)"
_COPIES = "Replication factor of the {} topic if a worker creates it; -1 for the broker's default."
_PARTITIONS = "Number of partitions of the {} topic if a worker creates it; -1 for the broker's default."

DOCUMENTATION = {
    "bootstrap.servers": "Addresses of brokers, `host:port`, separated by commas; the others are found from these.",
    "key.converter": "The converter between the bytes of keys in Kafka and Connect's data, for connectors that name "
    "none. Its own settings begin with `key.converter.`.",
    "value.converter": "The converter between the bytes of values in Kafka and Connect's data, for connectors that "
    "name none. Its own settings begin with `value.converter.`.",
    "header.converter": "The converter between the bytes of headers in Kafka and Connect's data, for connectors that "
    "name none. Its own settings begin with `header.converter.`.",
    "key.converter.plugin.version": "The version, or range of versions, that the class of `key.converter` must have.",
    "value.converter.plugin.version": "The version, or range of versions, that the class of `value.converter` must "
    "have.",
    "header.converter.plugin.version": "The version, or range of versions, that the class of `header.converter` must "
    "have.",
    "task.shutdown.graceful.timeout.ms": "How long a worker waits for its connectors and tasks to stop; then they are "
    "ended by force. All stop at the same time, so this is the limit for all of them together.",
    "offset.flush.interval.ms": "How often tasks commit offsets.",
    "offset.flush.timeout.ms": "How long a commit of offsets may take before it is given up and tried again later.",
    "plugin.path": "Folders with plugins, separated by commas.",
    "metric.reporters": "Java classes, so only the default is accepted. Metrics can be read at `GET /metrics`.",
    "config.providers": "Names of config providers, separated by commas, for references such as "
    "`${file:/secrets.properties:password}`. Each has `config.providers.<name>.class` and "
    "`config.providers.<name>.param.*`.",
    "connector.client.config.override.policy": "Which settings of its clients a connector may override by "
    "`producer.override.*`, `consumer.override.*` and `admin.override.*`: `All`, `None`, `Principal`, `Allowlist`, or "
    "a class of a plugin (KIP-458).",
    "connector.client.config.override.allowlist": "With the policy `Allowlist`: the settings that connectors may "
    "override, separated by commas.",
    "topic.creation.enable": "Whether topics are created by the rules of source connectors, `topic.creation.*` "
    "(KIP-158). Otherwise missing topics are left to the broker.",
    "topic.tracking.enable": "Whether the topics that each connector uses are recorded and shown at "
    "`GET /connectors/{name}/topics` (KIP-558).",
    "topic.tracking.allow.reset": "Whether `PUT /connectors/{name}/topics/reset` is allowed (KIP-558).",
    "rest.advertised.host.name": "The host name by which other workers reach the REST API of this one; by default that "
    "of the listener.",
    "rest.advertised.port": "The port by which other workers reach the REST API of this one; by default that of the "
    "listener.",
    "rest.advertised.listener": "The protocol, `http` or `https`, by which other workers reach the REST API of this "
    "one.",
    "access.control.allow.origin": "Origins whose web pages may call the REST API: regular expressions, separated by "
    "commas, or `*` for all. By default none.",
    "access.control.allow.methods": "The methods that pages of other origins may use, separated by commas; by default "
    "GET, POST and HEAD.",
    "response.http.headers.config": "Headers of every answer of the REST API, such as "
    "`set Cache-Control: no-cache, add X-Frame-Options: DENY`.",
    "rest.extension.classes": "Extensions of the REST API. Only Java's basic authentication is supported: "
    "`org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension`.",
    "listeners": "Addresses on which the REST API listens, such as `http://:8083,https://worker-1:8443`.",
    "admin.listeners": "Addresses for `/admin` alone; by default those of `listeners`, and none if it is empty.",
    "plugin.discovery": "How plugins in jars are found: `only_scan`, `hybrid_warn`, `hybrid_fail` or `service_load` "
    "(KIP-898).",
    "client.dns.lookup": f"{_CLIENTS}: whether all addresses of a broker's name are tried.",
    "metrics.sample.window.ms": "Checked as in Java, without effect: rates are taken over half a minute.",
    "metrics.num.samples": "Checked as in Java, without effect: rates are taken over half a minute.",
    "metrics.recording.level": "Checked as in Java, without effect: all metrics are recorded.",
    "ssl.client.auth": "Whether clients of the REST API need a certificate: `required`, `requested` or `none`.",
    "penstock.log.format": "Whether lines of the log are `text` or `json` objects.",
    "java.security.auth.login.config": "A JAAS file, for basic authentication of the REST API and for Kafka clients, "
    "as `-Djava.security.auth.login.config` is for Java.",
    "penstock.java.home": "The Java in which plugins from jars run; by default that of Spark.",
    "penstock.java.kafka.version": "The Kafka whose Java Connect plugins from jars find around them: `4.3` or `4.4`. "
    "Plugins built for another one run as well.",
    "penstock.java.opts": "Options of the JVMs in which plugins from jars run, such as `-Xmx1g`.",
    "penstock.java.process": "How many JVMs there are for tasks of jars: one for each `connector`, on each machine, or "
    "one for the whole `worker`.",
    "penstock.java.ship": "Whether Spark sends the jars of `plugin.path` to the executors of a cluster, which then "
    "need not have them in folders of the same names.",
    "penstock.jdbc.drivers": "Jars of JDBC drivers, or folders of them, for connectors to databases; beside those "
    "in `plugin.path` and those that `penstock plugins install` has fetched.",
    "penstock.query.slots": "On a Spark cluster: how many of the slots of `spark.cores.max` or "
    "`spark.executor.instances` queries get; hosted tasks get the rest. With 0 each application asks for all of them.",
    "penstock.task.lease.ms": "How long a task may work without a heartbeat of its worker. By default it follows from "
    "`session.timeout.ms`.",
    "offset.storage.file.filename": "Standalone only: the file in which source offsets are kept.",
    "session.timeout.ms": "After this time without a heartbeat the group considers a worker dead, and gives its "
    "work to others.",
    "rebalance.timeout.ms": "How long each worker may take to join the group again after a rebalance has begun.",
    "heartbeat.interval.ms": "How often a worker sends heartbeats to the group; at most a third of "
    "`session.timeout.ms`.",
    "client.id": "The name by which brokers' logs and quotas know the worker in its group, and the admin clients of "
    "connectors; a part of the names of the worker's other clients, after the `group.id`.",
    "request.timeout.ms": f"{_CLIENTS}: how long a request to a broker may take before it is sent again.",
    "connections.max.idle.ms": f"{_CLIENTS}: connections that have been idle for this time are closed.",
    "worker.sync.timeout.ms": "How long a worker that is behind in reading the config topic tries to catch up before "
    "it leaves the group.",
    "worker.unsync.backoff.ms": "How long a worker that could not catch up stays away from the group.",
    "inter.worker.key.size": f"{_KEY}: its size in bits; by default that of the algorithm.",
    "metadata.max.age.ms": f"{_CLIENTS}: the maximum age of metadata about topics.",
    "reconnect.backoff.ms": f"{_CLIENTS}: the first delay before a new connection to a broker.",
    "reconnect.backoff.max.ms": f"{_CLIENTS}: the maximum delay before a new connection to a broker.",
    "socket.connection.setup.timeout.ms": f"{_CLIENTS}: the first time limit for establishing a connection.",
    "socket.connection.setup.timeout.max.ms": f"{_CLIENTS}: the maximum time limit for establishing a connection.",
    "retry.backoff.ms": f"{_CLIENTS}: the first delay before a failed request is sent again.",
    "retry.backoff.max.ms": f"{_CLIENTS}: the maximum delay before a failed request is sent again.",
    "metadata.recovery.strategy": f"{_CLIENTS}: what they do when no known broker responds: `rebootstrap` starts again "
    "with `bootstrap.servers`, `none` waits.",
    "metadata.recovery.rebootstrap.trigger.ms": f"{_CLIENTS}: after this time without a response they start again with "
    "`bootstrap.servers`.",
    "bootstrap.resolve.timeout.ms": "Without effect, as in Java: names of `bootstrap.servers` are always looked up "
    "when a client is made.",
    "metadata.cluster.check.enable": "Without effect: Penstock's Kafka clients have nothing like it.",
    "internal.topics.automatic.creation.enable": "Whether internal topics that are missing are created: those for "
    "offsets, configurations, statuses and the history, and offsets topics of connectors. If not, a worker or a "
    "connector whose topic is missing fails and names it; without its topic the history is kept in memory.",
    "group.id": "The name of the cluster: workers with the same one share connectors and tasks.",
    "offset.storage.topic": "The topic in which source offsets are kept.",
    "config.storage.topic": "The topic in which configurations of connectors and tasks are kept; one partition.",
    "status.storage.topic": "The topic in which states of connectors and tasks are kept.",
    "send.buffer.bytes": f"{_CLIENTS}: the size of TCP's send buffer; -1 for the system's default.",
    "receive.buffer.bytes": f"{_CLIENTS}: the size of TCP's receive buffer; -1 for the system's default.",
    "exactly.once.source.support": "Whether sources are exactly once: `disabled`, `preparing` (workers can read what "
    "such sources write) or `enabled` (KIP-618).",
    "exactly.once.source.enabled": "KIP-618's first name for `exactly.once.source.support=enabled`.",
    "offset.storage.partitions": _PARTITIONS.format("offset"),
    "status.storage.partitions": _PARTITIONS.format("status"),
    "config.storage.replication.factor": _COPIES.format("config"),
    "offset.storage.replication.factor": _COPIES.format("offset"),
    "status.storage.replication.factor": _COPIES.format("status"),
    "connect.protocol": "How workers divide the work: `sessioned` (incremental, with signed requests), `compatible` "
    "(incremental), or `eager` (all stop for each rebalance).",
    "scheduled.rebalance.max.delay.ms": "How long the work of a worker that has left the group is kept for its return.",
    "penstock.group.max.bytes": "How many bytes the assignments of all connectors and tasks may have together. The "
    "broker stores them as one record, twice while work moves: raise it only with the broker's `message.max.bytes`. A "
    "connector that does not fit is refused, or assigned to no worker.",
    "inter.worker.key.ttl.ms": f"{_KEY}: how long it is used before a new one is made.",
    "inter.worker.key.generation.algorithm": f"{_KEY}: the algorithm it is made for.",
    "inter.worker.signature.algorithm": f"{_KEY}: the algorithm of signatures.",
    "inter.worker.verification.algorithms": f"{_KEY}: the algorithms of signatures that are accepted.",
}


def documented(config: ConfigDef) -> ConfigDef:
    """Return the definitions, with documentation added where they have none."""
    complete = ConfigDef()
    for key in config.keys.values():
        complete.add(replace(key, documentation=key.documentation or DOCUMENTATION[key.name]))
    return complete


def of_https(name: str) -> str:
    """Return what the documentation of a security setting of Kafka's clients lacks where it is the worker's."""
    used = name in _OF_HTTPS or name.startswith(("ssl.keystore.", "ssl.truststore."))
    if not used:
        return ""
    how = " HTTPS of the REST API uses it too, unless a setting begins with `listeners.https.`."
    if name == "ssl.cipher.suites":
        how += (
            " There it has Java's names or OpenSSL's. Of TLS 1.3 all suites are offered; if it has names of Java but"
            " none of those, that version is not."
        )
    return how


_OF_HTTPS = (
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
)
