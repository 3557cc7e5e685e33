"""The settings that only Java's consumers have, and those of which their defaults differ from other clients'."""

from __future__ import annotations

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
