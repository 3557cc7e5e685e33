"""The settings that only Java's producers have, and those of which their defaults differ from other clients'."""

from __future__ import annotations

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
