import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

/** Answers one case per line of standard input with what Java Connect does; see README.md beside it. */
public class Oracle {
    static final ObjectMapper MAPPER = new ObjectMapper();
    static final JsonNodeFactory NODES = JsonNodeFactory.withExactBigDecimals(true);
    static final JsonConverter SCHEMAS = new JsonConverter();

    public static void main(String[] args) throws Exception {
        SCHEMAS.configure(Map.of("schemas.enable", "true"), false);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode both = NODES.objectNode();
            JsonNode given = MAPPER.readTree(line);
            both.set("case", given);
            try {
                both.set("answer", answer(given));
            } catch (Throwable e) {
                ArrayNode chain = both.putArray("error");
                for (Throwable t = e; t != null; t = t.getCause())
                    chain.addArray().add(t.getClass().getName()).add(t.getMessage());
            }
            out.println(MAPPER.writer().with(com.fasterxml.jackson.core.json.JsonWriteFeature.ESCAPE_NON_ASCII).writeValueAsString(both));
        }
        out.flush();
    }

    /** Cases of many texts have a list of answers; what fails has its message instead. */
    static JsonNode each(JsonNode given) {
        ArrayNode answers = NODES.arrayNode();
        for (JsonNode value : given.get("values")) {
            ObjectNode one = ((ObjectNode) given).deepCopy();
            one.remove("values");
            one.set("value", value);
            try {
                answers.add(answer(one));
            } catch (Exception e) {
                answers.addObject().put("error", e.getMessage());
            }
        }
        return answers;
    }

    static JsonNode answer(JsonNode given) throws Exception {
        if (given.has("values"))
            return each(given);
        Schema schema = given.hasNonNull("schema") ? SCHEMAS.asConnectSchema(given.get("schema")) : null;
        JsonNode value = given.get("value");
        switch (given.get("op").asText()) {
            case "from": {
                byte[] data = converter(given).fromConnectData("topic", schema, read(schema, value));
                return data == null ? NODES.nullNode() : NODES.textNode(Base64.getEncoder().encodeToString(data));
            }
            case "to": {
                byte[] data = value.isNull() ? null : Base64.getDecoder().decode(value.asText());
                return show(converter(given).toConnectData("topic", data));
            }
            case "header":
                return show(new SimpleHeaderConverter().toConnectHeader("t", "h", Base64.getDecoder().decode(value.asText())));
            case "string":
                return NODES.textNode(String.valueOf(read(schema, value)));
            case "parse":
                return show(Values.parseString(value.asText()));
            case "text":
                return NODES.textNode(Values.convertToString(schema, read(schema, value)));
            case "convert":
                return show(null, convert(given.get("target").asText(), schema, read(schema, value)));
            case "match":
                return NODES.booleanNode(Pattern.compile(given.get("pattern").asText()).matcher(value.asText()).matches());
            case "replace": {
                Matcher matcher = Pattern.compile(given.get("pattern").asText()).matcher(value.asText());
                return NODES.textNode(matcher.replaceAll(given.get("replacement").asText()));
            }
            case "format":
                return NODES.textNode(format(given).format(new Date(value.asLong())));
            case "date":
                return NODES.numberNode(format(given).parse(value.asText()).getTime());
            default:
                throw new IllegalArgumentException(given.toString());
        }
    }

    static SimpleDateFormat format(JsonNode given) {
        SimpleDateFormat format = new SimpleDateFormat(given.get("pattern").asText());
        format.setTimeZone(TimeZone.getTimeZone("UTC"));
        return format;
    }

    static final Map<String, Converter> CONVERTERS = new HashMap<>();

    static Converter converter(JsonNode given) throws Exception {
        String key = given.get("converter").asText() + given.path("config");
        Converter converter = CONVERTERS.get(key);
        if (converter == null) {
            converter = (Converter) Class.forName(given.get("converter").asText()).getDeclaredConstructor().newInstance();
            Map<String, String> config = new HashMap<>();
            given.path("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
            converter.configure(config, false);
            CONVERTERS.put(key, converter);
        }
        return converter;
    }

    static Object convert(String target, Schema schema, Object value) {
        switch (target) {
            case "Boolean": return Values.convertToBoolean(schema, value);
            case "Byte": return Values.convertToByte(schema, value);
            case "Short": return Values.convertToShort(schema, value);
            case "Integer": return Values.convertToInteger(schema, value);
            case "Long": return Values.convertToLong(schema, value);
            case "Float": return Values.convertToFloat(schema, value);
            case "Double": return Values.convertToDouble(schema, value);
            case "List": return Values.convertToList(schema, value);
            case "Map": return Values.convertToMap(schema, value);
            case "Date": return Values.convertToDate(schema, value);
            case "Time": return Values.convertToTime(schema, value);
            case "Timestamp": return Values.convertToTimestamp(schema, value);
            case "Decimal": return Values.convertToDecimal(schema, value, 2);
            default: throw new IllegalArgumentException(target);
        }
    }

    /** The value that a notation stands for. */
    static Object read(Schema schema, JsonNode node) {
        if (node == null || node.isNull())
            return null;
        if (schema == null) {
            JsonNode v = node.get("v");
            switch (node.get("t").asText()) {
                case "int8": return (byte) v.asInt();
                case "int16": return (short) v.asInt();
                case "int32": return v.asInt();
                case "int64": return v.asLong();
                case "float32": return Float.valueOf(v.asText());
                case "float64": return Double.valueOf(v.asText());
                case "boolean": return v.asBoolean();
                case "string": return v.asText();
                case "bytes": return Base64.getDecoder().decode(v.asText());
                case "decimal": return new BigDecimal(v.asText());
                case "date": return new Date(v.asLong());
                case "array": {
                    List<Object> list = new ArrayList<>();
                    v.forEach(item -> list.add(read(null, item)));
                    return list;
                }
                case "map": {
                    Map<Object, Object> map = new LinkedHashMap<>();
                    v.forEach(entry -> map.put(read(null, entry.get(0)), read(null, entry.get(1))));
                    return map;
                }
                default: throw new IllegalArgumentException(node.toString());
            }
        }
        if (Decimal.LOGICAL_NAME.equals(schema.name()))
            return new BigDecimal(node.asText());
        if (isDate(schema))
            return new Date(node.asLong());
        switch (schema.type()) {
            case INT8: return (byte) node.asInt();
            case INT16: return (short) node.asInt();
            case INT32: return node.asInt();
            case INT64: return node.asLong();
            case FLOAT32: return Float.valueOf(node.asText());
            case FLOAT64: return Double.valueOf(node.asText());
            case BOOLEAN: return node.asBoolean();
            case STRING: return node.asText();
            case BYTES: return Base64.getDecoder().decode(node.asText());
            case ARRAY: {
                List<Object> list = new ArrayList<>();
                node.forEach(item -> list.add(read(schema.valueSchema(), item)));
                return list;
            }
            case MAP: {
                Map<Object, Object> map = new LinkedHashMap<>();
                node.forEach(entry -> map.put(read(schema.keySchema(), entry.get(0)), read(schema.valueSchema(), entry.get(1))));
                return map;
            }
            default: {
                Struct struct = new Struct(schema);
                for (Field field : schema.fields()) {
                    Object value = read(field.schema(), node.get(field.name()));
                    if (value != null)
                        struct.put(field, value);
                }
                return struct;
            }
        }
    }

    static boolean isDate(Schema schema) {
        String name = schema.name();
        return name != null && (name.equals("org.apache.kafka.connect.data.Date") || name.equals("org.apache.kafka.connect.data.Time")
            || name.equals("org.apache.kafka.connect.data.Timestamp"));
    }

    static JsonNode show(SchemaAndValue found) {
        ObjectNode both = NODES.objectNode();
        both.set("schema", found == null || found.schema() == null ? NODES.nullNode() : showSchema(found.schema()));
        both.set("value", found == null ? NODES.nullNode() : show(found.schema(), found.value()));
        return both;
    }

    /** Arrays and maps that Values infers may have schemas without element schemas, which JsonConverter can't express. */
    static JsonNode showSchema(Schema schema) {
        ObjectNode node;
        if (schema.type() == Schema.Type.ARRAY && schema.valueSchema() == null)
            return NODES.objectNode().put("type", "array").put("optional", schema.isOptional());
        if (schema.type() == Schema.Type.ARRAY) {
            node = NODES.objectNode().put("type", "array");
            node.set("items", showSchema(schema.valueSchema()));
            return node.put("optional", schema.isOptional());
        }
        if (schema.type() == Schema.Type.MAP && (schema.keySchema() == null || schema.valueSchema() == null)) {
            node = NODES.objectNode().put("type", "map");
            if (schema.keySchema() != null)
                node.set("keys", showSchema(schema.keySchema()));
            return node.put("optional", schema.isOptional());
        }
        if (schema.type() == Schema.Type.MAP) {
            node = NODES.objectNode().put("type", "map");
            node.set("keys", showSchema(schema.keySchema()));
            node.set("values", showSchema(schema.valueSchema()));
            return node.put("optional", schema.isOptional());
        }
        return SCHEMAS.asJsonSchema(schema);
    }

    /** The notation of a value: every scalar tagged with its type, maps in their order. */
    static JsonNode show(Schema schema, Object value) {
        if (value == null)
            return NODES.nullNode();
        ObjectNode node = NODES.objectNode();
        if (value instanceof Byte) return node.put("t", "int8").put("v", (Byte) value);
        if (value instanceof Short) return node.put("t", "int16").put("v", (Short) value);
        if (value instanceof Integer) return node.put("t", "int32").put("v", (Integer) value);
        if (value instanceof Long) return node.put("t", "int64").put("v", (Long) value);
        if (value instanceof Float) return node.put("t", "float32").put("v", value.toString());
        if (value instanceof Double) return node.put("t", "float64").put("v", value.toString());
        if (value instanceof Boolean) return node.put("t", "boolean").put("v", (Boolean) value);
        if (value instanceof String) return node.put("t", "string").put("v", (String) value);
        if (value instanceof byte[]) return node.put("t", "bytes").put("v", Base64.getEncoder().encodeToString((byte[]) value));
        if (value instanceof ByteBuffer) return show(null, ((ByteBuffer) value).array());
        if (value instanceof BigDecimal) return node.put("t", "decimal").put("v", value.toString());
        if (value instanceof Date) return node.put("t", "date").put("v", ((Date) value).getTime());
        if (value instanceof List) {
            ArrayNode list = node.put("t", "array").putArray("v");
            ((List<?>) value).forEach(item -> list.add(show(null, item)));
            return node;
        }
        if (value instanceof Map) {
            ArrayNode list = node.put("t", "map").putArray("v");
            ((Map<?, ?>) value).forEach((k, v) -> list.addArray().add(show(null, k)).add(show(null, v)));
            return node;
        }
        Struct struct = (Struct) value;
        ArrayNode list = node.put("t", "struct").putArray("v");
        for (Field field : struct.schema().fields())
            list.addArray().add(field.name()).add(show(null, struct.getWithoutDefault(field.name())));
        return node;
    }
}
