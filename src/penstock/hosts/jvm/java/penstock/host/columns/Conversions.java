package penstock.host.columns;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** A converter on the keys, values or headers of records, one by one. Where it has bytes, a record has byte arrays. */
public final class Conversions {
    /** The bytes of a key or value, and the headers after a converter that may have changed them. */
    private record Converted(byte[] bytes, RecordHeaders headers) {}

    private final String part;
    private final Object plugin;

    public Conversions(String part, Object plugin) {
        this.part = part;
        this.plugin = plugin;
    }

    public Object from(ConnectRecord<?> record) {
        RecordHeaders headers = new RecordHeaders();
        if (part.equals("headers")) {
            for (Header header : record.headers()) {
                byte[] bytes = ((HeaderConverter) plugin)
                    .fromConnectHeader(record.topic(), header.key(), header.schema(), header.value());
                headers.add(header.key(), bytes);
            }
            return new Converted(null, headers);
        }
        addRaw(record, headers);
        Converter converter = (Converter) plugin;
        byte[] bytes = part.equals("key")
            ? converter.fromConnectData(record.topic(), headers, record.keySchema(), record.key())
            : converter.fromConnectData(record.topic(), headers, record.valueSchema(), record.value());
        return new Converted(bytes, headers);
    }

    /** The column of bytes, and that of headers if there are any. */
    public boolean write(Object[] found, ColumnWriter writer) {
        boolean headers = false;
        for (Object each : found) {
            headers |= ((Converted) each).headers().iterator().hasNext();
        }
        if (!part.equals("headers")) {
            Object[] bytes = new Object[found.length];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = ((Converted) found[i]).bytes();
            }
            writer.column(bytes);
        }
        if (headers) {
            List<Object> counts = new ArrayList<>();
            List<Object> names = new ArrayList<>();
            List<Object> values = new ArrayList<>();
            for (Object each : found) {
                int count = 0;
                for (org.apache.kafka.common.header.Header header : ((Converted) each).headers()) {
                    names.add(header.key());
                    values.add(header.value());
                    count++;
                }
                counts.add(count);
            }
            writer.column(counts.toArray());
            writer.column(names.toArray());
            writer.column(values.toArray());
        }
        return headers;
    }

    public Object to(ConnectRecord<?> record) {
        if (part.equals("headers")) {
            ConnectHeaders headers = new ConnectHeaders();
            for (Header header : record.headers()) {
                SchemaAndValue read = ((HeaderConverter) plugin)
                    .toConnectHeader(record.topic(), header.key(), (byte[]) header.value());
                headers.add(header.key(), read);
            }
            return record.newRecord(
                record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
                record.valueSchema(), record.value(), record.timestamp(), headers);
        }
        RecordHeaders headers = new RecordHeaders();
        addRaw(record, headers);
        boolean key = part.equals("key");
        byte[] bytes = (byte[]) (key ? record.key() : record.value());
        SchemaAndValue read = ((Converter) plugin).toConnectData(record.topic(), headers, bytes);
        return record.newRecord(
            record.topic(), record.kafkaPartition(),
            key ? read.schema() : record.keySchema(), key ? read.value() : record.key(),
            key ? record.valueSchema() : read.schema(), key ? record.value() : read.value(),
            record.timestamp(), record.headers());
    }

    private static void addRaw(ConnectRecord<?> record, RecordHeaders headers) {
        for (Header header : record.headers()) {
            headers.add(header.key(), (byte[]) header.value());
        }
    }
}
