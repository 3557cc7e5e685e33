package penstock.host.tasks;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.WorkerErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import penstock.host.Failures;
import penstock.host.Session;

/** The reporter of errant records: the settings {@code errors.*} are applied on the other side. */
final class SinkReporter extends WorkerErrantRecordReporter {
    private final Session session;

    SinkReporter(Session session) {
        super(null, null, null, null);
        this.session = session;
    }

    @Override
    public Future<Void> report(SinkRecord each, Throwable error) {
        Map<String, Object> args = new LinkedHashMap<>();
        args.put("error", Failures.document(error));
        ByteArrayOutputStream payload = new ByteArrayOutputStream();
        if (each instanceof InternalSinkRecord known && known.context().original().serializedValueSize() != Originals.UNKNOWN) {
            describe(known.context().original(), args, payload);
        } else {
            ConnectRecord<?>[] records = {each};
            Map<String, Object> described = Batches.of(session).described(records, true, true, true);
            args.put("place", place(each.originalTopic(), each.originalKafkaPartition(), each.originalKafkaOffset()));
            args.put("timestamp_type", each.timestampType().name);
            args.put("record", described);
        }
        String type = args.containsKey("record") ? "sink.report" : "sink.report_original";
        try {
            session.call(type, args, ByteBuffer.wrap(payload.toByteArray()));
        } catch (ConnectException e) {
            // As Connect's own reporter: the trace of the task says what the plugin has reported, and where.
            throw new ConnectException(e.getMessage(), e.getCause() == null ? error : e.getCause());
        }
        return CompletableFuture.completedFuture(null);
    }

    private static void describe(ConsumerRecord<byte[], byte[]> original, Map<String, Object> args, ByteArrayOutputStream payload) {
        args.put("place", place(original.topic(), original.partition(), original.offset()));
        args.put("timestamp", original.timestamp() < 0 ? null : original.timestamp());
        args.put("timestamp_type", original.timestampType().name);
        args.put("key", add(original.key(), payload));
        args.put("value", add(original.value(), payload));
        List<Object> headers = new ArrayList<>();
        for (Header header : original.headers()) {
            headers.add(List.of(header.key(), add(header.value(), payload)));
        }
        args.put("headers", headers);
    }

    private static List<Object> place(String topic, int partition, long offset) {
        return List.of(topic, partition, offset);
    }

    /** The length of these bytes, -1 if there are none. */
    private static int add(byte[] bytes, ByteArrayOutputStream payload) {
        if (bytes == null) {
            return -1;
        }
        payload.writeBytes(bytes);
        return bytes.length;
    }
}
