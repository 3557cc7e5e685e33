package penstock.host.tasks;

import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;

/** The origins of sink records, which plugins look for in {@code InternalSinkRecord.context()}. */
final class Originals {
    /** The size of a value that is not known, since a transform made a new record, or the record was sent converted. */
    static final int UNKNOWN = -2;

    private Originals() {}

    /** The record, with its original topic, partition and offset; the original bytes are not known. */
    static InternalSinkRecord attached(SinkRecord each) {
        long timestamp = each.timestamp() == null ? ConsumerRecord.NO_TIMESTAMP : each.timestamp();
        ConsumerRecord<byte[], byte[]> original = new ConsumerRecord<>(each.originalTopic(), each.originalKafkaPartition(),
            each.originalKafkaOffset(), timestamp, each.timestampType(), UNKNOWN, UNKNOWN, null, null, new RecordHeaders(),
            Optional.empty());
        return new InternalSinkRecord(new ProcessingContext<>(original), each);
    }
}
