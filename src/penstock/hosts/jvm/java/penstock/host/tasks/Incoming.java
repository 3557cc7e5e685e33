package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import penstock.host.Json;
import penstock.host.columns.ColumnReader;

/** Columns that the other side sends: of new records, or in place of those of records that are here. */
final class Incoming {
    private final JsonNode input;
    private final Map<String, Object[]> columns = new HashMap<>();
    private final Map<String, Schema[]> schemas = new HashMap<>();

    Incoming(JsonNode input, ColumnReader reader) {
        this.input = input;
        for (JsonNode each : input.get("set")) {
            String name = each.asText();
            switch (name) {
                case "key", "value" -> {
                    schemas.put(name, reader.schemas());
                    columns.put(name, reader.column());
                }
                case "headers" -> {
                    columns.put("header counts", reader.column());
                    columns.put("header names", reader.column());
                    schemas.put("headers", reader.schemas());
                    columns.put("headers", headers(reader.column()));
                }
                default -> columns.put(name, reader.column());
            }
        }
    }

    private Object[] headers(Object[] values) {
        Object[] counts = columns.get("header counts");
        Object[] names = columns.get("header names");
        Schema[] declared = schemas.get("headers");
        Object[] rows = new Object[counts.length];
        int at = 0;
        for (int i = 0; i < rows.length; i++) {
            ConnectHeaders row = new ConnectHeaders();
            for (int j = 0; j < ((Number) counts[i]).intValue(); j++, at++) {
                row.add((String) names[at], values[at], declared[at]);
            }
            rows[i] = row;
        }
        return rows;
    }

    ConnectRecord<?>[] changed(ConnectRecord<?>[] records) {
        ConnectRecord<?>[] changed = new ConnectRecord<?>[records.length];
        for (int i = 0; i < records.length; i++) {
            ConnectRecord<?> old = records[i];
            changed[i] = old.newRecord(
                columns.containsKey("topics") ? (String) columns.get("topics")[i] : old.topic(),
                columns.containsKey("partitions") ? integer(columns.get("partitions")[i]) : old.kafkaPartition(),
                schemas.containsKey("key") ? schemas.get("key")[i] : old.keySchema(),
                columns.containsKey("key") ? columns.get("key")[i] : old.key(),
                schemas.containsKey("value") ? schemas.get("value")[i] : old.valueSchema(),
                columns.containsKey("value") ? columns.get("value")[i] : old.value(),
                columns.containsKey("timestamps") ? (Long) columns.get("timestamps")[i] : old.timestamp(),
                columns.containsKey("headers") ? (Headers) columns.get("headers")[i] : old.headers());
        }
        return changed;
    }

    ConnectRecord<?>[] records() {
        return input.path("kind").asText().equals("sink") ? sinkRecords(null) : sourceRecords();
    }

    private SourceRecord[] sourceRecords() {
        SourceRecord[] records = new SourceRecord[input.get("n").asInt()];
        List<Map<String, Object>> partitions = maps(input.path("source_partitions"));
        List<Map<String, Object>> offsets = maps(input.path("source_offsets"));
        for (int i = 0; i < records.length; i++) {
            records[i] = new SourceRecord(
                partitions.isEmpty() ? null : partitions.get(input.path("source_partition_rows").path(i).asInt()),
                offsets.isEmpty() ? null : offsets.get(i),
                (String) columns.get("topics")[i],
                integer(columns.get("partitions")[i]),
                schemas.get("key")[i],
                columns.get("key")[i],
                schemas.get("value")[i],
                columns.get("value")[i],
                (Long) columns.get("timestamps")[i],
                headers(i));
        }
        return records;
    }

    private static Integer integer(Object value) {
        return value == null ? null : (Integer) ((Number) value).intValue();
    }

    private Iterable<Header> headers(int row) {
        return columns.containsKey("headers") ? (Headers) columns.get("headers")[row] : null;
    }

    /** Make records like Java Connect's worker, with the consumer's records. {@code converters} is null or applied. */
    SinkRecord[] sinkRecords(RawConverters converters) {
        SinkRecord[] records = new SinkRecord[input.get("n").asInt()];
        Object[] topics = columns.get("topics");
        Object[] partitions = columns.get("partitions");
        Object[] originalTopics = columns.getOrDefault("original topics", topics);
        Object[] originalPartitions = columns.getOrDefault("original partitions", partitions);
        Object[] offsets = columns.get("offsets");
        Object[] timestamps = columns.get("timestamps");
        TimestampType[] types = types(columns.get("timestamp types"));
        List<ConsumerRecord<byte[], byte[]>> originals = new ArrayList<>(records.length);
        RecordHeaders[] raw = new RecordHeaders[records.length];
        boolean read = input.path("read").asBoolean();
        byte[][] readKeys = bytes("key", read);
        byte[][] readValues = bytes("value", read);
        for (int i = 0; i < records.length; i++) {
            byte[] key = readKeys[i];
            byte[] value = readValues[i];
            raw[i] = raw(headers(i));
            originals.add(new ConsumerRecord<>(
                (String) originalTopics[i], integer(originalPartitions[i]), (Long) offsets[i],
                timestamps[i] == null ? ConsumerRecord.NO_TIMESTAMP : (Long) timestamps[i], types[i],
                size(key, read), size(value, read), key, value, raw[i], Optional.empty()));
        }
        if (converters != null) {
            convert(converters, originalTopics, raw);
        }
        Object[] keys = columns.get("key");
        Object[] values = columns.get("value");
        Schema[] keySchemas = schemas.get("key");
        Schema[] valueSchemas = schemas.get("value");
        for (int i = 0; i < records.length; i++) {
            SinkRecord record = new SinkRecord(
                (String) topics[i],
                integer(partitions[i]),
                keySchemas[i],
                keys[i],
                valueSchemas[i],
                values[i],
                (Long) offsets[i],
                (Long) timestamps[i],
                types[i],
                headers(i),
                (String) originalTopics[i],
                integer(originalPartitions[i]),
                (Long) offsets[i]);
            records[i] = new InternalSinkRecord(new ProcessingContext<>(originals.get(i)), record);
        }
        return records;
    }

    private void convert(RawConverters converters, Object[] topics, RecordHeaders[] raw) {
        Object[] keys = new Object[raw.length];
        Schema[] keySchemas = new Schema[raw.length];
        converters.keys(topics, raw, columns.put("key", keys), keySchemas, keys);
        schemas.put("key", keySchemas);
        Object[] values = new Object[raw.length];
        Schema[] valueSchemas = new Schema[raw.length];
        converters.values(topics, raw, columns.put("value", values), valueSchemas, values);
        schemas.put("value", valueSchemas);
        if (columns.containsKey("headers")) {
            columns.put("headers", converters.headers(topics, raw));
        }
    }

    private static TimestampType[] types(Object[] names) {
        TimestampType[] types = new TimestampType[names.length];
        for (int i = 0; i < types.length; i++) {
            types[i] = i > 0 && names[i] == names[i - 1] ? types[i - 1] : TimestampType.forName((String) names[i]);
        }
        return types;
    }

    private static RecordHeaders raw(Iterable<Header> headers) {
        RecordHeaders raw = new RecordHeaders();
        if (headers != null) {
            for (Header header : headers) {
                if (header.value() == null || header.value() instanceof byte[]) {
                    raw.add(header.key(), (byte[]) header.value());
                }
            }
        }
        return raw;
    }

    /** Return the bytes that were {@code read}, or nulls if they are not known, since the records were sent converted. */
    private byte[][] bytes(String part, boolean read) {
        Object[] values = columns.get(part);
        byte[][] found = new byte[values.length][];
        for (int i = 0; read && i < found.length; i++) {
            found[i] = (byte[]) values[i];
        }
        return found;
    }

    private static int size(byte[] bytes, boolean read) {
        return !read ? Originals.UNKNOWN : bytes == null ? ConsumerRecord.NULL_SIZE : bytes.length;
    }

    private static List<Map<String, Object>> maps(JsonNode node) {
        List<Map<String, Object>> maps = new ArrayList<>();
        for (JsonNode each : node) {
            maps.add(Json.offset(each));
        }
        return maps;
    }
}
