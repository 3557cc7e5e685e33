package penstock.tests;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTaskContext;

import java.lang.reflect.Field;
import java.util.Set;

/** Looks where Debezium's JDBC sink and Iceberg's look: behind the API, into Java Connect's runtime. */
final class Internals {
    private Internals() {
    }

    static void note(SinkRecord each, SinkTaskContext context, Conduct conduct) {
        conduct.note("record", each.getClass().getName());
        ConsumerRecord<byte[], byte[]> original = ((InternalSinkRecord) each).context().original();
        conduct.note("original", original.topic() + "-" + original.partition() + "@" + original.offset()
            + " " + new String(original.value()));
        conduct.note("context", context.getClass().getName());
        Consumer<?, ?> consumer;
        try {
            Field field = context.getClass().getDeclaredField("consumer");
            field.setAccessible(true);
            consumer = (Consumer<?, ?>) field.get(context);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        TopicPartition partition = new TopicPartition(original.topic(), original.partition());
        conduct.note("group", consumer.groupMetadata().groupId() + " " + consumer.groupMetadata().generationId()
            + " " + consumer.groupMetadata().memberId());
        conduct.note("assignment", consumer.assignment());
        conduct.note("position", consumer.position(partition));
        conduct.note("committed", consumer.committed(Set.of(partition)).get(partition));
        conduct.note("beginning", consumer.beginningOffsets(Set.of(partition)));
        conduct.note("end", consumer.endOffsets(Set.of(partition)));
        for (PartitionInfo info : consumer.partitionsFor(partition.topic())) {
            conduct.note("partition", info.partition() + " of " + info.replicas().length + ", led by one of them: "
                + Set.of(info.replicas()).contains(info.leader()) + " " + (info.leader().port() > 0));
        }
    }
}
