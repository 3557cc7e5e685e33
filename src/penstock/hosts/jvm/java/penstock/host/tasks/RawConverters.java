package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import penstock.host.Host;
import penstock.host.Session;

/** The three converters of a sink, on columns of records as they were read. */
final class RawConverters {
    private final Converter key;
    private final Converter value;
    private final HeaderConverter header;

    /** {@code steps}: their numbers, as {@code key}, {@code value} and {@code header}. */
    RawConverters(Session session, JsonNode steps) {
        key = (Converter) Steps.plugin(session, steps.get("key").asInt());
        value = (Converter) Steps.plugin(session, steps.get("value").asInt());
        header = (HeaderConverter) Steps.plugin(session, steps.get("header").asInt());
    }

    void keys(Object[] topics, RecordHeaders[] headers, Object[] bytes, Schema[] schemas, Object[] values) {
        convert(key, topics, headers, bytes, schemas, values);
    }

    void values(Object[] topics, RecordHeaders[] headers, Object[] bytes, Schema[] schemas, Object[] values) {
        convert(value, topics, headers, bytes, schemas, values);
    }

    /** The last two are filled. */
    private static void convert(
            Converter converter, Object[] topics, RecordHeaders[] headers, Object[] bytes, Schema[] schemas, Object[] values) {
        try (LoaderSwap swap = swap(converter)) {
            for (int i = 0; i < bytes.length; i++) {
                SchemaAndValue read = converter.toConnectData((String) topics[i], headers[i], (byte[]) bytes[i]);
                schemas[i] = read.schema();
                values[i] = read.value();
            }
        }
    }

    /** Convert the headers of each record. */
    Object[] headers(Object[] topics, RecordHeaders[] raw) {
        Object[] rows = new Object[raw.length];
        try (LoaderSwap swap = swap(header)) {
            for (int i = 0; i < rows.length; i++) {
                rows[i] = headers((String) topics[i], raw[i]);
            }
        }
        return rows;
    }

    private ConnectHeaders headers(String topic, RecordHeaders raw) {
        ConnectHeaders row = new ConnectHeaders();
        for (Header each : raw) {
            row.add(each.key(), header.toConnectHeader(topic, each.key(), each.value()));
        }
        return row;
    }

    private static LoaderSwap swap(Object plugin) {
        return Host.plugins().withClassLoader(plugin.getClass().getClassLoader());
    }
}
