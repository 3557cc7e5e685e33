import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Asks Kafka's transforms: reads questions from standard input, one JSON document a line, and writes each with its answer.
 * The notation of schemas and values is described in notation.py.
 */
public class Harness {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode question = (ObjectNode) JSON.readTree(line);
            question.set("answer", answer(question));
            out.println(JSON.writeValueAsString(question));
        }
        out.flush();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static ObjectNode answer(ObjectNode question) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        Map<String, String> config = new HashMap<>();
        question.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
        Class<?> kind = Class.forName("org.apache.kafka.connect.transforms." + question.get("class").asText());
        Transformation transform;
        try {
            transform = (Transformation) kind.getDeclaredConstructor().newInstance();
            transform.configure(config);
        } catch (Exception e) {
            answer.set("configure", error(e));
            return answer;
        }
        ConnectRecord<?> record = record(question.get("record"));
        try {
            ConnectRecord<?> changed = transform.apply(record);
            answer.set("record", changed == null ? null : written(changed));
        } catch (Exception e) {
            answer.set("apply", error(e));
        }
        return answer;
    }

    static ArrayNode error(Exception e) {
        return JSON.createArrayNode().add(e.getClass().getName()).add(e.getMessage());
    }

    static ConnectRecord<?> record(JsonNode node) {
        Schema keySchema = schema(node.get("key").get(0));
        Schema valueSchema = schema(node.get("value").get(0));
        Object key = value(keySchema, node.get("key").get(1));
        Object value = value(valueSchema, node.get("value").get(1));
        Integer partition = node.get("partition").isNull() ? null : node.get("partition").asInt();
        Long timestamp = node.get("timestamp").isNull() ? null : node.get("timestamp").asLong();
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : node.get("headers")) {
            Schema schema = schema(header.get(1));
            headers.add(header.get(0).asText(), value(schema, header.get(2)), schema);
        }
        String topic = node.get("topic").asText();
        if (node.get("offset").isNull()) {
            Map<String, Object> where = new LinkedHashMap<>();
            where.put("file", "x");
            Map<String, Object> offset = new LinkedHashMap<>();
            offset.put("position", 3L);
            return new SourceRecord(where, offset, topic, partition, keySchema, key, valueSchema, value, timestamp, headers);
        }
        return new SinkRecord(topic, partition, keySchema, key, valueSchema, value, node.get("offset").asLong(), timestamp,
            TimestampType.CREATE_TIME, headers);
    }

    static ObjectNode written(ConnectRecord<?> record) {
        ObjectNode node = JSON.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.set("key", pair(record.keySchema(), record.key()));
        node.set("value", pair(record.valueSchema(), record.value()));
        node.put("timestamp", record.timestamp());
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers())
            headers.add(JSON.createArrayNode().add(header.key()).add(schemaNode(header.schema()))
                .add(valueNode(header.schema(), header.value())));
        return node;
    }

    static ArrayNode pair(Schema schema, Object value) {
        return JSON.createArrayNode().add(schemaNode(schema)).add(valueNode(schema, value));
    }

    static Schema schema(JsonNode node) {
        if (node == null || node.isNull())
            return null;
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText());
        SchemaBuilder builder;
        switch (type) {
            case ARRAY:
                builder = SchemaBuilder.array(schema(node.get("items")));
                break;
            case MAP:
                builder = SchemaBuilder.map(schema(node.get("keys")), schema(node.get("items")));
                break;
            default:
                builder = new SchemaBuilder(type);
        }
        if (type == Schema.Type.STRUCT)
            for (JsonNode field : node.get("fields"))
                builder.field(field.get(0).asText(), schema(field.get(1)));
        if (node.has("optional"))
            builder.optional();
        if (node.has("name"))
            builder.name(node.get("name").asText());
        if (node.has("version"))
            builder.version(node.get("version").asInt());
        if (node.has("doc"))
            builder.doc(node.get("doc").asText());
        if (node.has("parameters"))
            node.get("parameters").fields().forEachRemaining(e -> builder.parameter(e.getKey(), e.getValue().asText()));
        if (node.has("default")) {
            Schema soFar = builder.build();
            builder.defaultValue(value(soFar, node.get("default")));
        }
        return builder.build();
    }

    static Object value(Schema schema, JsonNode node) {
        if (node == null || node.isNull())
            return null;
        if (schema == null)
            return schemaless(node);
        if (schema.name() != null) {
            switch (schema.name()) {
                case Decimal.LOGICAL_NAME:
                    return new BigDecimal(node.asText());
                case org.apache.kafka.connect.data.Date.LOGICAL_NAME:
                case Time.LOGICAL_NAME:
                case Timestamp.LOGICAL_NAME:
                    return new java.util.Date(node.asLong());
            }
        }
        switch (schema.type()) {
            case INT8:
                return (byte) node.asInt();
            case INT16:
                return (short) node.asInt();
            case INT32:
                return node.asInt();
            case INT64:
                return node.asLong();
            case FLOAT32:
                return Float.parseFloat(node.asText());
            case FLOAT64:
                return Double.parseDouble(node.asText());
            case BOOLEAN:
                return node.asBoolean();
            case STRING:
                return node.asText();
            case BYTES:
                return Base64.getDecoder().decode(node.asText());
            case ARRAY:
                List<Object> list = new ArrayList<>();
                node.forEach(item -> list.add(value(schema.valueSchema(), item)));
                return list;
            case MAP:
                Map<Object, Object> map = new HashMap<>();
                node.forEach(e -> map.put(value(schema.keySchema(), e.get(0)), value(schema.valueSchema(), e.get(1))));
                return map;
            default:
                Struct struct = new Struct(schema);
                for (Field field : schema.fields()) {
                    Object item = value(field.schema(), node.get(field.name()));
                    if (item != null)
                        struct.put(field, item);
                }
                return struct;
        }
    }

    static Object schemaless(JsonNode node) {
        if (node.isNull())
            return null;
        if (node.isBoolean())
            return node.asBoolean();
        if (node.isNumber())
            return node.asLong();
        if (node.isTextual())
            return node.asText();
        if (node.isArray()) {
            List<Object> list = new ArrayList<>();
            node.forEach(item -> list.add(schemaless(item)));
            return list;
        }
        if (node.has("float"))
            return Double.parseDouble(node.get("float").asText());
        if (node.has("bytes"))
            return Base64.getDecoder().decode(node.get("bytes").asText());
        if (node.has("date"))
            return new java.util.Date(node.get("date").asLong());
        if (node.has("decimal"))
            return new BigDecimal(node.get("decimal").asText());
        Map<String, Object> map = new HashMap<>();
        node.get("map").forEach(entry -> map.put(entry.get(0).asText(), schemaless(entry.get(1))));
        return map;
    }

    static JsonNode schemaNode(Schema schema) {
        if (schema == null)
            return JSON.nullNode();
        ObjectNode node = JSON.createObjectNode();
        node.put("type", schema.type().name());
        if (schema.isOptional())
            node.put("optional", true);
        if (schema.name() != null)
            node.put("name", schema.name());
        if (schema.version() != null)
            node.put("version", schema.version());
        if (schema.doc() != null)
            node.put("doc", schema.doc());
        if (schema.parameters() != null && !schema.parameters().isEmpty()) {
            ObjectNode parameters = node.putObject("parameters");
            schema.parameters().forEach(parameters::put);
        }
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.fields())
                fields.add(JSON.createArrayNode().add(field.name()).add(schemaNode(field.schema())));
        }
        if (schema.type() == Schema.Type.MAP)
            node.set("keys", schemaNode(schema.keySchema()));
        if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY)
            node.set("items", schemaNode(schema.valueSchema()));
        if (schema.defaultValue() != null)
            node.set("default", valueNode(schema, schema.defaultValue()));
        return node;
    }

    static JsonNode valueNode(Schema schema, Object value) {
        if (value == null)
            return JSON.nullNode();
        if (schema == null)
            return schemalessNode(value);
        if (value instanceof BigDecimal)
            return JSON.getNodeFactory().textNode(value.toString());
        if (value instanceof java.util.Date)
            return JSON.getNodeFactory().numberNode(((java.util.Date) value).getTime());
        switch (schema.type()) {
            case FLOAT32:
            case FLOAT64:
                return JSON.getNodeFactory().textNode(value.toString());
            case BYTES:
                byte[] bytes = value instanceof ByteBuffer ? ((ByteBuffer) value).array() : (byte[]) value;
                return JSON.getNodeFactory().textNode(Base64.getEncoder().encodeToString(bytes));
            case ARRAY:
                ArrayNode array = JSON.createArrayNode();
                for (Object item : (List<?>) value)
                    array.add(valueNode(schema.valueSchema(), item));
                return array;
            case MAP:
                ArrayNode entries = JSON.createArrayNode();
                ((Map<?, ?>) value).forEach((k, v) -> entries.add(JSON.createArrayNode()
                    .add(valueNode(schema.keySchema(), k)).add(valueNode(schema.valueSchema(), v))));
                return entries;
            case STRUCT:
                ObjectNode struct = JSON.createObjectNode();
                Struct given = (Struct) value;
                for (Field field : given.schema().fields())
                    struct.set(field.name(), valueNode(field.schema(), given.getWithoutDefault(field.name())));
                return struct;
            default:
                return JSON.valueToTree(value);
        }
    }

    static JsonNode schemalessNode(Object value) {
        if (value == null)
            return JSON.nullNode();
        if (value instanceof Float || value instanceof Double)
            return JSON.createObjectNode().put("float", value.toString());
        if (value instanceof byte[])
            return JSON.createObjectNode().put("bytes", Base64.getEncoder().encodeToString((byte[]) value));
        if (value instanceof java.util.Date)
            return JSON.createObjectNode().put("date", ((java.util.Date) value).getTime());
        if (value instanceof BigDecimal)
            return JSON.createObjectNode().put("decimal", value.toString());
        if (value instanceof List) {
            ArrayNode array = JSON.createArrayNode();
            ((List<?>) value).forEach(item -> array.add(schemalessNode(item)));
            return array;
        }
        if (value instanceof Map) {
            ObjectNode node = JSON.createObjectNode();
            ArrayNode entries = node.putArray("map");
            ((Map<?, ?>) value).forEach((k, v) -> entries.add(JSON.createArrayNode().add(k.toString()).add(schemalessNode(v))));
            return node;
        }
        return JSON.valueToTree(value);
    }
}
