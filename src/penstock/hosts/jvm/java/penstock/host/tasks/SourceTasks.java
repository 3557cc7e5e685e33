package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.source.TransactionContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import penstock.host.Failures;
import penstock.host.Host;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;
import penstock.host.SessionMetrics;
import penstock.host.SourceOffsets;

/** The source task of a session. */
public final class SourceTasks {
    private SourceTask task;
    private Map<String, String> config;
    private TransactionRequests transactions;
    private final StopOnce stop = new StopOnce();
    /** Number of batches that the task has returned. */
    private int returned;

    private static SourceTasks of(Session session) {
        return session.state(SourceTasks.class, SourceTasks::new);
    }

    public static void register(Map<String, Method> methods) {
        methods.put("source.create", (session, args, payload) -> of(session).create(args));
        methods.put("source.start", (session, args, payload) -> of(session).start(session, args));
        methods.put("source.poll", (session, args, payload) -> of(session).poll(session, args));
        methods.put("source.commit", (session, args, payload) -> of(session).commit(args));
        methods.put("source.commitRecords", (session, args, payload) -> of(session).commitRecords(session, args, payload));
        methods.put("source.stop", (session, args, payload) -> of(session).stop());
    }

    private LoaderSwap swap() throws Exception {
        return Host.plugins().withClassLoader(task.getClass().getClassLoader());
    }

    /** Return which of the methods whose calls cost something the class overrides with a body that is not empty. */
    private Reply create(JsonNode args) throws Exception {
        task = (SourceTask) TaskObjects.create(args.get("task"));
        Class<?> type = task.getClass();
        boolean commit = Overrides.one(type, SourceTask.class, "commit");
        boolean commitRecord =
            Overrides.one(type, SourceTask.class, "commitRecord", SourceRecord.class, RecordMetadata.class);
        return Reply.of(Map.of("commit", commit, "commit_record", commitRecord));
    }

    private Reply start(Session session, JsonNode args) throws Exception {
        config = Json.texts(args.get("config"));
        if (args.path("transactions").asBoolean()) {
            transactions = new TransactionRequests();
        }
        session.onClose(this::stop);
        try (LoaderSwap swap = swap()) {
            task.initialize(new Context(session));
            task.start(config);
        }
        return Reply.NONE;
    }

    private Reply poll(Session session, JsonNode args) throws Exception {
        Batches batches = Batches.of(session);
        batches.free(args);
        List<SourceRecord> polled;
        try (LoaderSwap swap = swap()) {
            polled = task.poll();
        }
        if (polled != null && !polled.isEmpty()) {
            synchronized (this) {
                returned++;
            }
        }
        Map<String, Object> result = new LinkedHashMap<>();
        if (polled != null && !polled.isEmpty()) {
            describe(batches, polled.toArray(SourceRecord[]::new), result);
        }
        if (transactions != null) {
            transactions.take(polled, result);
        }
        return Reply.of(result);
    }

    /** The last offset of each source partition is sent at once; the others are fetched if they are needed. */
    private static void describe(Batches batches, SourceRecord[] records, Map<String, Object> result) {
        boolean partitions = false;
        boolean timestamps = false;
        Map<Map<String, ?>, Integer> known = new HashMap<>();
        List<Object> sourcePartitions = new ArrayList<>();
        List<Integer> last = new ArrayList<>();
        int[] rows = new int[records.length];
        Map<String, ?> before = null;
        int row = -1;
        for (int i = 0; i < records.length; i++) {
            SourceRecord record = records[i];
            partitions |= record.kafkaPartition() != null;
            timestamps |= record.timestamp() != null;
            Map<String, ?> partition = record.sourcePartition();
            if (row < 0 || !(partition == before || Objects.equals(partition, before))) {
                Integer number = known.get(partition);
                if (number == null) {
                    number = sourcePartitions.size();
                    known.put(partition, number);
                    sourcePartitions.add(partition);
                    last.add(i);
                }
                row = number;
                before = partition;
            }
            rows[i] = row;
            last.set(row, i);
        }
        result.put("batch", batches.described(records, true, partitions, timestamps));
        result.put("source_partitions", sourcePartitions);
        if (sourcePartitions.size() > 1) {
            result.put("source_partition_rows", rows);
        }
        List<Object> offsets = new ArrayList<>();
        for (int each : last) {
            offsets.add(records[each].sourceOffset());
        }
        result.put("last", last);
        result.put("last_offsets", offsets);
    }

    /** The source offsets of all records of a batch. */
    static List<Object> offsets(ConnectRecord<?>[] records) {
        List<Object> offsets = new ArrayList<>();
        for (ConnectRecord<?> each : records) {
            offsets.add(((SourceRecord) each).sourceOffset());
        }
        return offsets;
    }

    /** A task may commit all it has returned: not before the other side has taken that. */
    private Reply commit(JsonNode args) throws Exception {
        synchronized (this) {
            if (returned != args.get("taken").asInt()) {
                return Reply.NONE;
            }
        }
        try (LoaderSwap swap = swap()) {
            task.commit();
        }
        return Reply.NONE;
    }

    /** A record that was dropped has offset -1; Java Connect gives no metadata then. */
    private Reply commitRecords(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConnectRecord<?>[] records = Batches.of(session).input(args, payload).records();
        List<Object> failures = new ArrayList<>();
        try (LoaderSwap swap = swap()) {
            for (int i = 0; i < records.length; i++) {
                long offset = args.path("offsets").path(i).asLong(-1);
                RecordMetadata metadata = null;
                if (offset >= 0 || args.path("sent").asBoolean()) {
                    TopicPartition partition = new TopicPartition(
                        args.get("topics").get(i).asText(), args.get("partitions").get(i).asInt());
                    metadata = new RecordMetadata(
                        partition, offset, 0, args.path("timestamps").path(i).asLong(-1), -1, -1);
                }
                try {
                    task.commitRecord((SourceRecord) records[i], metadata);
                } catch (Exception | LinkageError e) {
                    failures.add(Failures.document(e));
                }
            }
        }
        return Reply.of(failures);
    }

    private Reply stop() throws Exception {
        if (task != null) {
            stop.call(() -> {
                try (LoaderSwap swap = swap()) {
                    task.stop();
                }
                return null;
            });
        }
        return Reply.NONE;
    }

    private final class Context implements SourceTaskContext {
        private final OffsetStorageReader offsets;
        private final PluginMetrics metrics;

        Context(Session session) {
            offsets = new SourceOffsets(session);
            metrics = SessionMetrics.ofTask(session);
        }

        @Override
        public Map<String, String> configs() {
            return config;
        }

        @Override
        public OffsetStorageReader offsetStorageReader() {
            return offsets;
        }

        @Override
        public TransactionContext transactionContext() {
            return transactions;
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return metrics;
        }
    }
}
