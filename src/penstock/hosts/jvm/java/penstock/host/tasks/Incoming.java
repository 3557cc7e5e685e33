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
                columns.containsKey("partitions") ? integer("partitions", i) : old.kafkaPartition(),
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
        int n = input.get("n").asInt();
        ConnectRecord<?>[] records = new ConnectRecord<?>[n];
        boolean sink = input.path("kind").asText().equals("sink");
        List<Map<String, Object>> partitions = maps(input.path("source_partitions"));
        List<Map<String, Object>> offsets = maps(input.path("source_offsets"));
        for (int i = 0; i < n; i++) {
            if (sink) {
                records[i] = sinkRecord(i);
            } else {
                records[i] = new SourceRecord(
                    partitions.isEmpty() ? null : partitions.get(input.path("source_partition_rows").path(i).asInt()),
                    offsets.isEmpty() ? null : offsets.get(i),
                    (String) columns.get("topics")[i],
                    integer("partitions", i),
                    schemas.get("key")[i],
                    columns.get("key")[i],
                    schemas.get("value")[i],
                    columns.get("value")[i],
                    (Long) columns.get("timestamps")[i],
                    headers(i));
            }
        }
        return records;
    }

    private Integer integer(String column, int row) {
        Object value = columns.get(column)[row];
        return value == null ? null : ((Number) value).intValue();
    }

    private Iterable<Header> headers(int row) {
        return columns.containsKey("headers") ? (Headers) columns.get("headers")[row] : null;
    }

    /** As Java Connect's worker hands it over: with the consumer's record. */
    private SinkRecord sinkRecord(int i) {
        String topic = (String) columns.get("original topics")[i];
        int partition = integer("original partitions", i);
        long offset = (Long) columns.get("offsets")[i];
        Long timestamp = (Long) columns.get("timestamps")[i];
        TimestampType type = TimestampType.forName((String) columns.get("timestamp types")[i]);
        byte[] key = bytes("key", i);
        byte[] value = bytes("value", i);
        RecordHeaders raw = new RecordHeaders();
        if (headers(i) != null) {
            for (Header header : headers(i)) {
                if (header.value() == null || header.value() instanceof byte[]) {
                    raw.add(header.key(), (byte[]) header.value());
                }
            }
        }
        ConsumerRecord<byte[], byte[]> original = new ConsumerRecord<>(
            topic, partition, offset, timestamp == null ? ConsumerRecord.NO_TIMESTAMP : timestamp, type,
            key == null ? -1 : key.length, value == null ? -1 : value.length, key, value, raw, Optional.empty());
        SinkRecord record = new SinkRecord(
            (String) columns.get("topics")[i],
            integer("partitions", i),
            schemas.get("key")[i],
            columns.get("key")[i],
            schemas.get("value")[i],
            columns.get("value")[i],
            offset,
            timestamp,
            type,
            headers(i),
            topic,
            partition,
            offset);
        return new InternalSinkRecord(new ProcessingContext<>(original), record);
    }

    private byte[] bytes(String name, int row) {
        Object value = columns.get(name)[row];
        return value instanceof byte[] && schemas.get(name)[row] == null ? (byte[]) value : null;
    }

    private static List<Map<String, Object>> maps(JsonNode node) {
        List<Map<String, Object>> maps = new ArrayList<>();
        for (JsonNode each : node) {
            maps.add(Json.offset(each));
        }
        return maps;
    }
}
