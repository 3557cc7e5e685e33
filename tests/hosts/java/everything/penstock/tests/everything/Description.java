package penstock.tests.everything;

import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A record as text: classes of values, and all of their schemas. */
final class Description {
    private Description() {
    }

    static String of(SinkRecord each) {
        StringBuilder text = new StringBuilder();
        text.append(each.topic()).append('-').append(each.kafkaPartition()).append('@').append(each.kafkaOffset());
        text.append(" of ").append(each.originalTopic()).append('-').append(each.originalKafkaPartition());
        text.append('@').append(each.originalKafkaOffset());
        text.append(' ').append(each.timestampType()).append(' ').append(each.timestamp());
        text.append(" key ").append(schema(each.keySchema())).append(' ').append(value(each.key()));
        text.append(" value ").append(schema(each.valueSchema())).append(' ').append(value(each.value()));
        for (Header header : each.headers()) {
            text.append(" header ").append(header.key()).append(' ').append(schema(header.schema())).append(' ').append(value(header.value()));
        }
        return text.toString().replace("\n", "\\n");
    }

    private static String schema(Schema schema) {
        if (schema == null) {
            return "-";
        }
        StringBuilder text = new StringBuilder(schema.type().getName());
        text.append(schema.isOptional() ? "?" : "");
        if (schema.name() != null) {
            text.append(':').append(schema.name());
        }
        if (schema.version() != null) {
            text.append('#').append(schema.version());
        }
        if (schema.doc() != null) {
            text.append('/').append(schema.doc());
        }
        if (schema.parameters() != null) {
            text.append(new TreeMap<>(schema.parameters()));
        }
        if (schema.defaultValue() != null) {
            text.append('=').append(value(schema.defaultValue()));
        }
        switch (schema.type()) {
            case ARRAY -> text.append('[').append(schema(schema.valueSchema())).append(']');
            case MAP -> text.append('[').append(schema(schema.keySchema())).append(',').append(schema(schema.valueSchema())).append(']');
            case STRUCT -> {
                text.append('(');
                for (Field field : schema.fields()) {
                    text.append(field.index()).append(' ').append(field.name()).append(' ').append(schema(field.schema())).append(';');
                }
                text.append(')');
            }
            default -> {
            }
        }
        return text.toString();
    }

    private static String value(Object value) {
        if (value == null) {
            return "null";
        }
        String kind = value.getClass().getSimpleName() + ":";
        if (value instanceof Struct struct) {
            StringBuilder text = new StringBuilder("Struct{");
            for (Field field : struct.schema().fields()) {
                text.append(field.name()).append('=').append(value(struct.getWithoutDefault(field.name()))).append(',');
            }
            return text.append('}').toString();
        }
        if (value instanceof byte[] bytes) {
            return "bytes:" + HexFormat.of().formatHex(bytes);
        }
        if (value instanceof ByteBuffer buffer) {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return "buffer:" + HexFormat.of().formatHex(bytes);
        }
        if (value instanceof List<?> list) {
            StringBuilder text = new StringBuilder("[");
            list.forEach(each -> text.append(value(each)).append(','));
            return text.append(']').toString();
        }
        if (value instanceof Map<?, ?> map) {
            TreeMap<String, String> sorted = new TreeMap<>();
            map.forEach((key, each) -> sorted.put(value(key), value(each)));
            return "map" + sorted;
        }
        if (value instanceof java.util.Date date) {
            return "Date:" + date.getTime();
        }
        return kind + value;
    }
}
