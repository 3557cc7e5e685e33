"""Settings of Java's clients except those of security: of all clients, and of producers, consumers and admin clients.

The tables are read by ``define_table``.
"""

from __future__ import annotations

from collections.abc import Mapping

OF_REPORTERS, NO_REPORTERS = "metrics.context.", "it is for metric reporters, of which there are none here"
"""Prefix of settings with any name that Java's clients and workers pass to metric reporters, and why they have no
effect.
"""
COMMON = """
client.dns.lookup STRING MEDIUM use_all_dns_ips
    How names of brokers become addresses: `use_all_dns_ips` tries all addresses of a name in turn;
    `resolve_canonical_bootstrap_servers_only` first replaces each name in `bootstrap.servers` by the full names of its
    addresses, which logins with Kerberos may need.
send.buffer.bytes INT MEDIUM 131072
    The size of TCP's send buffer in bytes; -1 leaves it to the system, as librdkafka does without this setting.
reconnect.backoff.ms LONG LOW 50
    Milliseconds before a broker whose connection failed is connected to again, at first; the time doubles with each
    failure. At most an hour. Without this setting it is 250 here, or `reconnect.backoff.max.ms` if that is less.
reconnect.backoff.max.ms LONG LOW 1000
    The most milliseconds before a broker is connected to again; at most an hour here.
retry.backoff.ms LONG LOW 100
    Milliseconds before a failed request is sent again, at first; the time doubles with each failure. From 1 to 300000
    here.
retry.backoff.max.ms LONG LOW 1000
    The most milliseconds before a failed request is sent again; from 1 to 300000 here.
request.timeout.ms INT MEDIUM 30000
    Milliseconds that a broker has to answer a request before it counts as failed; from 10 to 300000 here.
metadata.max.age.ms LONG LOW 300000
    Milliseconds after which what a client knows of topics, partitions and leaders is outdated; at most a day here.
    librdkafka also asks for them every five minutes, whatever this says.
metrics.sample.window.ms LONG LOW 30000
    Milliseconds of each sample of Java's metrics. No effect here: rates are taken over half a minute.
metrics.num.samples INT LOW 2
    How many samples Java's metrics are made of. No effect here: rates are taken over half a minute.
metrics.recording.level STRING LOW INFO
    How many of Java's metrics are recorded. No effect here: all metrics are.
metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter
    Java classes that report metrics. No effect on clients here: the worker shows theirs at `GET /metrics`.
socket.connection.setup.timeout.ms LONG MEDIUM 10000
    Milliseconds that a connection to a broker may take to be made. Here at least 1000, with TLS and login, and always
    the same; in Java it doubles with each failure.
socket.connection.setup.timeout.max.ms LONG MEDIUM 30000
    The most milliseconds to which Java raises that time. No effect here, where it stays the same.
metadata.recovery.strategy STRING LOW rebootstrap
    What a client does when none of the brokers it knows answers: `rebootstrap` starts over with `bootstrap.servers`,
    `none` keeps trying those it knows.
metadata.recovery.rebootstrap.trigger.ms LONG LOW 300000
    Milliseconds without an answer about the cluster after which a client starts over with `bootstrap.servers`.
metadata.cluster.check.enable BOOLEAN LOW true
    Whether Java's clients of Kafka 4.4 tell a broker which one they expect, so that it can refuse a connection that was
    led to it by mistake. No effect here: librdkafka has nothing like it.
bootstrap.resolve.timeout.ms LONG HIGH 0
    Milliseconds for which Java's clients of Kafka 4.4 look up the names of `bootstrap.servers` in the background. No
    effect: Connect always looks them up when it makes a client.
config.providers LIST LOW ""
    Names of config providers for Java's clients. No effect on clients here: the worker resolves references before it
    hands settings to clients.
"""

SHARED: Mapping[str, str] = {
    "bootstrap.servers": "Addresses of brokers, `host:port`, separated by commas; a client finds the others from "
    "these. Without this setting, those of the worker.",
    "client.id": "The name by which brokers' logs, metrics and quotas know the client. Without this setting, "
    "Connect makes one from the names of connector and task.",
    "connections.max.idle.ms": "Milliseconds after which a connection that is not used is closed.",
    "default.api.timeout.ms": "Milliseconds that a call of the client may take in Java, where no other limit is given. "
    "No effect here: the worker gives each of its calls a limit of its own.",
    "enable.metrics.push": "Whether the client sends its metrics to brokers that ask for them (KIP-714). Off here "
    "unless it is set.",
    "interceptor.classes": "Java classes that see records on their way. None can run here, so a value is refused.",
    "receive.buffer.bytes": "The size of TCP's receive buffer in bytes; -1 leaves it to the system, as librdkafka does "
    "without this setting.",
}
"""Documentation of settings that several clients have with defaults of their own."""


PRODUCER = """
bootstrap.servers LIST HIGH !
buffer.memory LONG HIGH 33554432
    Bytes of records that may wait to be sent; a source task that is ahead of the brokers waits for room. Without this
    setting they are 128 MiB here, and never less than `max.request.size`.
retries INT HIGH 2147483647
    How often a record is sent again after a failure that may pass, within `delivery.timeout.ms`. 0 is refused with
    `enable.idempotence`.
acks STRING LOW all
    Which brokers have a record before it counts as written: `all` replicas in sync (also `-1`), the leader only (`1`),
    or none (`0`).
compression.type STRING HIGH none
    How batches of records are compressed: `none`, `gzip`, `snappy`, `lz4` or `zstd`.
compression.gzip.level INT MEDIUM -1
    How hard `gzip` tries, from 1 to 9; -1 is its own default.
compression.lz4.level INT MEDIUM 9
    How hard `lz4` tries, from 1 to 12. Without this setting the client has librdkafka's own default here.
compression.zstd.level INT MEDIUM 3
    How hard `zstd` tries. Here at most 12, and every level below -1 counts as -1, which is librdkafka's own default.
batch.size INT MEDIUM 16384
    The most bytes of a batch of records for one partition. Without this setting they are 1000000 here.
partitioner.adaptive.partitioning.enable BOOLEAN LOW true
    Whether Java's producers send fewer records without a key to brokers that are slow. No effect here.
partitioner.availability.timeout.ms LONG LOW 0
    Milliseconds without an answer after which Java's producers send no more records without a key to a partition. No
    effect here.
partitioner.ignore.keys BOOLEAN MEDIUM false
    Whether partitions are chosen without regard to keys; at random here.
linger.ms LONG MEDIUM 5
    Milliseconds that a record may wait for others to make a larger batch; at most 900000 here.
delivery.timeout.ms INT MEDIUM 120000
    Milliseconds after which a record that could not be written fails. Connect's default is 2147483647, which means for
    ever here; with transactions it is at most `transaction.timeout.ms`.
client.id STRING MEDIUM ""
receive.buffer.bytes INT MEDIUM 32768
max.request.size INT MEDIUM 1048576
    The most bytes of a record, and of a request; from 1000 to 1000000000 here. Brokers have a limit of their own,
    `max.message.bytes` of the topic.
enable.metrics.push BOOLEAN LOW true
max.block.ms LONG MEDIUM 60000
    Milliseconds that a topic which does not exist is waited for; at most 2000000 here, which is also what counts
    without this setting. A partition that its topic does not have is waited for as long, without it 60000. For room in
    the buffer a source task waits as long as it takes.
metadata.max.idle.ms LONG LOW 300000
    Milliseconds after which Java's producers forget a topic that gets no records. No effect here.
max.in.flight.requests.per.connection INT LOW 5
    Requests that a broker may have without having answered; more than 1 may change the order of records when one is
    sent again, unless `enable.idempotence` is on, which allows 5 at most. Connect's default is 1, but 5 with exactly
    once.
key.serializer CLASS HIGH !
    A Java class that makes bytes of keys. No effect: the connector's `key.converter` does that.
value.serializer CLASS HIGH !
    A Java class that makes bytes of values. No effect: the connector's `value.converter` does that.
connections.max.idle.ms LONG MEDIUM 540000
client.rack STRING LOW ""
    Where the producer is, for `partitioner.rack.aware` (KIP-1123), which can't be used here. No effect.
partitioner.rack.aware BOOLEAN LOW false
    Whether records without a key go to partitions whose leaders are in the rack `client.rack` (KIP-1123). `true` is
    refused: librdkafka does not know the racks of leaders.
partitioner.class CLASS MEDIUM
    The Java class that chooses partitions. Only Kafka's own are accepted: without one, records with the same key go to
    the partition that Java sends them to; `RoundRobinPartitioner` is at random here.
interceptor.classes LIST LOW ""
enable.idempotence BOOLEAN LOW true
    Whether brokers write each record once and in order although it may be sent twice. It is off unless it is set, as in
    Connect, except for SparkSource, and always on with exactly once.
transaction.timeout.ms INT LOW 60000
    Milliseconds after which brokers abort a transaction that has not ended; at least 1000 here. Records and requests in
    it get no more time either.
transactional.id STRING LOW
    The name by which brokers know the producer's transactions. With exactly once Connect makes one for each task, and
    ignores others.
transaction.two.phase.commit.enable BOOLEAN LOW false
    Whether a coordinator outside of Kafka ends the transactions (KIP-939). No effect: librdkafka has nothing like it.
"""


_ASSIGNOR = "class org.apache.kafka.clients.consumer."

CONSUMER = f"""
bootstrap.servers LIST HIGH !
group.id STRING HIGH
    The consumer group, which shares the partitions and whose offsets say how far a sink connector is. Without this
    setting, `connect-` and the connector's name.
group.instance.id STRING MEDIUM
    A lasting name of a member of the group: one that is back within `session.timeout.ms` has its partitions again
    without a rebalance. Two members can't have the same one, so it is for connectors with one task.
session.timeout.ms INT HIGH 45000
    Milliseconds without a heartbeat after which the group takes a member for dead. Here never more than
    `max.poll.interval.ms`, and left to brokers with `group.protocol=consumer`.
heartbeat.interval.ms INT HIGH 3000
    Milliseconds between heartbeats, by which a member also hears of rebalances. Without this setting 500 here for
    connectors with several tasks; left to brokers with `group.protocol=consumer`.
partition.assignment.strategy LIST MEDIUM {_ASSIGNOR}RangeAssignor,{_ASSIGNOR}CooperativeStickyAssignor
    The Java classes that share out partitions, by preference: `RangeAssignor`, `RoundRobinAssignor` or
    `CooperativeStickyAssignor`. The last one counts here only without the others, since librdkafka does not mix them.
enable.auto.commit BOOLEAN MEDIUM true
    Whether the consumer commits offsets by itself. Connect turns it off unless it is set: tasks commit what is written.
auto.commit.interval.ms INT LOW 5000
    Milliseconds between the commits of `enable.auto.commit`; at most a day here.
client.id STRING LOW ""
client.rack STRING LOW ""
    Where the consumer is, so that it may read from a replica nearby instead of the leader (KIP-392).
max.partition.fetch.bytes INT HIGH 1048576
    The most bytes of one partition in an answer, unless the first batch alone is larger; at most 1000000000 here.
receive.buffer.bytes INT MEDIUM 65536
fetch.min.bytes INT HIGH 1
    Bytes that a broker waits for before it answers, up to `fetch.max.wait.ms`; at most 100000000 here.
fetch.max.bytes INT MEDIUM 52428800
    The most bytes in an answer, unless the first batch alone is larger; from 1000 to 2147483135 here.
fetch.max.wait.ms INT LOW 500
    Milliseconds that a broker waits for `fetch.min.bytes` before it answers; at most 299000 here.
enable.metrics.push BOOLEAN LOW true
auto.offset.reset STRING MEDIUM latest
    Where to begin in a partition without an offset of the group: `earliest`, `latest`, or `none`, which fails.
    Connect's default is `earliest`. A time, `by_duration:`, is refused here.
check.crcs BOOLEAN LOW true
    Whether checksums of records are verified.
key.deserializer CLASS HIGH !
    A Java class that reads the bytes of keys. No effect: the connector's `key.converter` does that.
value.deserializer CLASS HIGH !
    A Java class that reads the bytes of values. No effect: the connector's `value.converter` does that.
default.api.timeout.ms INT MEDIUM 60000
connections.max.idle.ms LONG MEDIUM 540000
interceptor.classes LIST LOW ""
max.poll.records INT MEDIUM 500
    The most records that a sink task is given at once, by one call of `put`. Without this setting they are 2000 here.
max.poll.interval.ms INT MEDIUM 300000
    Milliseconds that a sink task may take for the records it was given before the group takes it for stuck and gives
    its partitions to others; at most a day here.
exclude.internal.topics BOOLEAN MEDIUM true
    Whether `topics.regex` leaves out Kafka's internal topics, such as `__consumer_offsets`, even if it matches them.
internal.throw.on.fetch.stable.offset.unsupported BOOLEAN LOW false
    Of Kafka Streams: whether to fail at brokers that can't hold back the offsets of open transactions. No effect:
    librdkafka has nothing like it.
isolation.level STRING MEDIUM read_uncommitted
    Whether records of transactions are read when they are written (`read_uncommitted`) or only once their transaction
    is committed (`read_committed`).
allow.auto.create.topics BOOLEAN MEDIUM true
    Whether brokers may create a topic that is read and does not exist.
group.protocol STRING HIGH classic
    How the group shares partitions: `classic`, where a member decides, or `consumer`, where brokers do (KIP-848).
group.remote.assignor STRING MEDIUM
    With `group.protocol=consumer`: the name of the brokers' assignor; by default they choose it.
share.acknowledgement.mode STRING MEDIUM implicit
    Of share groups (KIP-932): how records are acknowledged. No effect: sink tasks are no share consumers.
share.acquire.mode STRING MEDIUM BATCH_OPTIMIZED
    Of share groups (KIP-932): whether limits of records are kept to the record or to the batch. No effect: sink tasks
    are no share consumers.
"""


ADMIN = """
bootstrap.servers LIST HIGH ""
bootstrap.controllers LIST HIGH ""
    Addresses of controllers, to be asked instead of brokers. Refused here: name brokers in `bootstrap.servers`.
client.id STRING MEDIUM ""
receive.buffer.bytes INT MEDIUM 65536
enable.metrics.push BOOLEAN LOW false
connections.max.idle.ms LONG MEDIUM 300000
    Milliseconds after which a connection that is not used is closed. Without this setting 540000 here.
retries INT LOW 2147483647
    How often Java sends a failed request again. No effect here, where only time limits count.
default.api.timeout.ms INT MEDIUM 60000
"""
