package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import penstock.host.Messages;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;
import penstock.host.columns.ColumnReader;
import penstock.host.columns.ColumnWriter;
import penstock.host.columns.Out;
import penstock.host.columns.SchemaTable;

/** The records that are in this JVM, as batches by number, and what the other side gets to know of them. */
public final class Batches {
    private final Map<Long, ConnectRecord<?>[]> batches = new ConcurrentHashMap<>();
    private final AtomicLong last = new AtomicLong();
    private final SchemaTable schemas;

    private Batches(Session session) {
        schemas = SchemaTable.of(session);
    }

    public static void register(Map<String, Method> methods) {
        methods.put("batch.put", (session, args, payload) -> {
            Input input = of(session).input(args, payload);
            return of(session).outcome(input.records(), input.records());
        });
        methods.put("batch.columns", (session, args, payload) -> of(session).columns(args, payload));
        methods.put("batch.offsets", (session, args, payload) ->
            Reply.of(SourceTasks.offsets(of(session).input(args, payload).records())));
        methods.put("batch.concat", (session, args, payload) -> of(session).concat(args));
    }

    public static Batches of(Session session) {
        return session.state(Batches.class, () -> new Batches(session));
    }

    /** The records of a call; {@code kept} if they are those of a batch here, the same objects each time. */
    public record Input(ConnectRecord<?>[] records, boolean kept) {}

    public long add(ConnectRecord<?>[] records) {
        long number = last.incrementAndGet();
        batches.put(number, records);
        return number;
    }

    /** The records that the member {@code input} of the arguments names, or that are in the payload. */
    public Input input(JsonNode args, ByteBuffer payload) throws IOException {
        free(args);
        JsonNode input = args.get("input");
        schemas.learn(input.path("schemas"));
        ColumnReader reader = new ColumnReader(payload, schemas);
        if (Messages.type(input).equals("sent")) {
            return new Input(new Incoming(input, reader).records(), false);
        }
        ConnectRecord<?>[] records = rows(batches.get(input.get("batch").asLong()), input.path("rows"));
        if (!input.hasNonNull("set")) {
            return new Input(records, true);
        }
        return new Input(new Incoming(input, reader).changed(records), false);
    }

    /** The records of a sink in the payload, as they were read, after these converters. */
    SinkRecord[] converted(JsonNode args, ByteBuffer payload, RawConverters converters) throws IOException {
        free(args);
        JsonNode input = args.get("input");
        schemas.learn(input.path("schemas"));
        return new Incoming(input, new ColumnReader(payload, schemas)).sinkRecords(converters);
    }

    /** Take from a call whose records are not wanted what the other side will not send again. */
    void forgo(JsonNode args) throws IOException {
        free(args);
        schemas.learn(args.path("input").path("schemas"));
    }

    /** Batches that the other side has forgotten. */
    public void free(JsonNode args) {
        for (JsonNode each : args.path("free")) {
            batches.remove(each.asLong());
        }
    }

    private static ConnectRecord<?>[] rows(ConnectRecord<?>[] records, JsonNode rows) {
        if (!rows.isArray()) {
            return records;
        }
        ConnectRecord<?>[] chosen = new ConnectRecord<?>[rows.size()];
        for (int i = 0; i < chosen.length; i++) {
            chosen[i] = records[rows.get(i).asInt()];
        }
        return chosen;
    }

    /** A new batch of the records after a step, null for one that was dropped, and what is different from before. */
    public Reply outcome(ConnectRecord<?>[] before, ConnectRecord<?>[] after) {
        List<Integer> dropped = new ArrayList<>();
        List<ConnectRecord<?>> kept = new ArrayList<>(after.length);
        boolean topics = false;
        boolean partitions = false;
        boolean timestamps = false;
        for (int i = 0; i < after.length; i++) {
            ConnectRecord<?> record = after[i];
            if (record == null) {
                dropped.add(i);
                continue;
            }
            kept.add(record);
            if (record != before[i]) {
                topics |= !Objects.equals(record.topic(), before[i].topic());
                partitions |= !Objects.equals(record.kafkaPartition(), before[i].kafkaPartition());
                timestamps |= !Objects.equals(record.timestamp(), before[i].timestamp());
            }
        }
        ConnectRecord<?>[] records = dropped.isEmpty() ? after : kept.toArray(ConnectRecord<?>[]::new);
        Map<String, Object> result = described(records, topics, partitions, timestamps);
        if (!dropped.isEmpty()) {
            result.put("dropped", dropped);
        }
        return Reply.of(result);
    }

    /** The number of a new batch with these records, and these columns of it. */
    public Map<String, Object> described(
            ConnectRecord<?>[] records, boolean topics, boolean partitions, boolean timestamps) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("batch", add(records));
        result.put("n", records.length);
        result.put("absent", absent(records));
        if (topics) {
            result.put("topics", topics(records));
        }
        if (partitions) {
            Integer[] column = new Integer[records.length];
            for (int i = 0; i < column.length; i++) {
                column[i] = records[i].kafkaPartition();
            }
            result.put("partitions", column);
        }
        if (timestamps) {
            Long[] column = new Long[records.length];
            for (int i = 0; i < column.length; i++) {
                column[i] = records[i].timestamp();
            }
            result.put("timestamps", column);
        }
        return result;
    }

    /** One topic, or the different ones and which of them each record has. */
    private static Object topics(ConnectRecord<?>[] records) {
        Map<String, Integer> names = new LinkedHashMap<>();
        int[] column = new int[records.length];
        for (int i = 0; i < records.length; i++) {
            Integer known = names.get(records[i].topic());
            if (known == null) {
                known = names.size();
                names.put(records[i].topic(), known);
            }
            column[i] = known;
        }
        return names.size() <= 1
            ? Map.of("names", names.keySet())
            : Map.of("names", names.keySet(), "rows", column);
    }

    /** Return "key" and "headers" if no record has any. */
    private static List<String> absent(ConnectRecord<?>[] records) {
        boolean keys = false;
        boolean headers = false;
        for (ConnectRecord<?> record : records) {
            keys |= record.key() != null || record.keySchema() != null;
            headers |= !record.headers().isEmpty();
        }
        List<String> absent = new ArrayList<>();
        if (!keys) {
            absent.add("key");
        }
        if (!headers) {
            absent.add("headers");
        }
        return absent;
    }

    private Reply concat(JsonNode args) {
        free(args);
        List<ConnectRecord<?>> all = new ArrayList<>();
        for (JsonNode part : args.get("parts")) {
            all.addAll(List.of(rows(batches.get(part.get("batch").asLong()), part.path("rows"))));
        }
        return Reply.of(Map.of("batch", add(all.toArray(ConnectRecord<?>[]::new))));
    }

    /** {@code parts}: key, value or headers. */
    private Reply columns(JsonNode args, ByteBuffer payload) throws IOException {
        ConnectRecord<?>[] records = input(args, payload).records();
        Out out = new Out();
        ColumnWriter writer = new ColumnWriter(out, schemas);
        Map<String, Object> result = new LinkedHashMap<>();
        synchronized (schemas) { // no other reply takes the descriptions that this one needs
            for (JsonNode what : args.get("parts")) {
                switch (what.asText()) {
                    case "key" -> write(writer, records, true);
                    case "value" -> write(writer, records, false);
                    case "headers" -> headers(writer, records);
                    default -> throw new IllegalArgumentException(what.asText());
                }
            }
            result.put("schemas", schemas.takeDescriptions());
        }
        return Reply.of(result, out.done());
    }

    private static void write(ColumnWriter writer, ConnectRecord<?>[] records, boolean keys) {
        Schema[] column = new Schema[records.length];
        Object[] values = new Object[records.length];
        for (int i = 0; i < records.length; i++) {
            column[i] = keys ? records[i].keySchema() : records[i].valueSchema();
            values[i] = keys ? records[i].key() : records[i].value();
        }
        writer.schemas(column);
        writer.column(column, values);
    }

    static void headers(ColumnWriter writer, ConnectRecord<?>[] records) {
        List<Object> counts = new ArrayList<>();
        List<Object> names = new ArrayList<>();
        List<Schema> schemas = new ArrayList<>();
        List<Object> values = new ArrayList<>();
        for (ConnectRecord<?> record : records) {
            counts.add(record.headers().size());
            for (Header header : record.headers()) {
                names.add(header.key());
                schemas.add(header.schema());
                values.add(header.value());
            }
        }
        Schema[] declared = schemas.toArray(Schema[]::new);
        writer.column(counts.toArray());
        writer.column(names.toArray());
        writer.schemas(declared);
        writer.column(declared, values.toArray());
    }
}
