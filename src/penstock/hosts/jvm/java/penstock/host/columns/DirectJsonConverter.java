package penstock.host.columns;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.json.DecimalFormat;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.json.JsonConverterConfig;
import penstock.host.Host;

/**
 * Kafka's converter, with the same bytes: it writes values that have a schema without a tree of nodes in between, and
 * makes the text of a schema once. What it is not sure of, such as values that don't fit their schema, Kafka's own code
 * converts or refuses. Used by one thread at a time.
 */
public final class DirectJsonConverter extends JsonConverter {
    private static final int MAX_SHAPES = 1_000;
    private static final SerializedString SCHEMA = new SerializedString("schema");
    private static final SerializedString PAYLOAD = new SerializedString("payload");

    /** The way in which values of a schema are written. */
    private enum Kind { INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES, ARRAY, MAP, STRUCT,
        DECIMAL, DATE, TIME, TIMESTAMP }

    private static final Map<String, Kind> LOGICAL = Map.of(
        Decimal.LOGICAL_NAME, Kind.DECIMAL,
        Date.LOGICAL_NAME, Kind.DATE,
        Time.LOGICAL_NAME, Kind.TIME,
        Timestamp.LOGICAL_NAME, Kind.TIMESTAMP);

    /** A schema, and what is needed to write its values; {@code names} and {@code fields} are those of a struct. */
    private static final class Shape {
        final Schema schema;
        final Kind kind;
        SerializedString[] names;
        Shape[] fields;
        /** The shape of the values of an array or a map. */
        Shape items;
        /** The schema as JSON, if it has been needed. */
        SerializedString text;

        Shape(Schema schema) {
            this.schema = schema;
            Kind logical = schema.name() == null ? null : LOGICAL.get(schema.name());
            kind = logical != null ? logical : Kind.valueOf(schema.type().name());
        }
    }

    /** Kafka's code is to decide. */
    private static final class UnsureException extends RuntimeException {
        private static final long serialVersionUID = 1;

        UnsureException() {
            super(null, null, false, false);
        }
    }

    private static final UnsureException UNSURE = new UnsureException();

    private final Map<Schema, Shape> objects = new IdentityHashMap<>();
    private final Map<Schema, Shape> shapes = new HashMap<>();
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private boolean envelopes;
    private boolean numeric;
    private boolean defaults;
    private boolean plain;

    @Override
    public void configure(Map<String, ?> configs) {
        super.configure(configs);
        Map<String, Object> settings = JsonConverterConfig.configDef().parse(configs);
        envelopes = (Boolean) settings.get(JsonConverterConfig.SCHEMAS_ENABLE_CONFIG);
        String format = (String) settings.get(JsonConverterConfig.DECIMAL_FORMAT_CONFIG);
        numeric = DecimalFormat.NUMERIC.name().equalsIgnoreCase(format);
        defaults = (Boolean) settings.get(JsonConverterConfig.REPLACE_NULL_WITH_DEFAULT_CONFIG);
        plain = settings.get(JsonConverterConfig.SCHEMA_CONTENT_CONFIG) != null;
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        byte[] found = plain || schema == null || value == null ? null : direct(schema, value);
        return found == null ? super.fromConnectData(topic, schema, value) : found;
    }

    /** Return null if Kafka's code is to decide. */
    private byte[] direct(Schema schema, Object value) {
        bytes.reset();
        try (JsonGenerator json = Host.JSON.getFactory().createGenerator(bytes)) {
            Shape shape = shape(schema);
            if (envelopes) {
                json.writeStartObject();
                json.writeFieldName(SCHEMA);
                json.writeRawValue(text(shape));
                json.writeFieldName(PAYLOAD);
            }
            write(json, shape, value);
            if (envelopes) {
                json.writeEndObject();
            }
        } catch (IOException | RuntimeException e) {
            return null;
        }
        return bytes.toByteArray();
    }

    private Shape shape(Schema schema) {
        Shape known = objects.get(schema);
        if (known == null) {
            if (!(schema instanceof ConnectSchema)) {
                throw UNSURE; // it may change
            }
            if (objects.size() >= MAX_SHAPES) {
                objects.clear();
                shapes.clear();
            }
            known = shapes.get(schema);
            if (known == null) {
                known = made(schema);
                shapes.put(schema, known);
            }
            objects.put(schema, known);
        }
        return known;
    }

    private Shape made(Schema schema) {
        Shape shape = new Shape(schema);
        if (shape.kind == Kind.STRUCT) {
            List<Field> fields = schema.fields();
            shape.names = new SerializedString[fields.size()];
            shape.fields = new Shape[fields.size()];
            for (int i = 0; i < shape.fields.length; i++) {
                shape.names[i] = name(fields.get(i).name());
                shape.fields[i] = shape(fields.get(i).schema());
            }
        } else if (shape.kind == Kind.ARRAY || shape.kind == Kind.MAP) {
            shape.items = shape(schema.valueSchema());
        }
        return shape;
    }

    /** Jackson escapes some characters in another way here than in the names of a tree. */
    private static SerializedString name(String name) {
        if (name.chars().anyMatch(c -> c < ' ' || c == '"' || c == '\\' || Character.isSurrogate((char) c))) {
            throw UNSURE;
        }
        return new SerializedString(name);
    }

    private SerializedString text(Shape shape) throws IOException {
        if (shape.text == null) {
            byte[] json = Host.JSON.writeValueAsBytes(asJsonSchema(shape.schema));
            shape.text = new SerializedString(new String(json, StandardCharsets.UTF_8));
        }
        return shape.text;
    }

    /** Throws ClassCastException, among others, for a value that does not fit. */
    private void write(JsonGenerator json, Shape shape, Object value) throws IOException {
        if (value == null) {
            Object other = shape.schema.defaultValue();
            if (other != null && defaults) {
                write(json, shape, other);
            } else if (shape.schema.isOptional()) {
                json.writeNull();
            } else {
                throw UNSURE;
            }
            return;
        }
        switch (shape.kind) {
            case INT8 -> json.writeNumber((short) (Byte) value);
            case INT16 -> json.writeNumber((short) (Short) value);
            case INT32 -> json.writeNumber((int) (Integer) value);
            case INT64 -> json.writeNumber((long) (Long) value);
            case FLOAT32 -> json.writeNumber((float) (Float) value);
            case FLOAT64 -> json.writeNumber((double) (Double) value);
            case BOOLEAN -> json.writeBoolean((Boolean) value);
            case STRING -> json.writeString((String) value);
            case BYTES -> json.writeBinary(value instanceof ByteBuffer ? whole((ByteBuffer) value) : (byte[]) value);
            case ARRAY -> {
                json.writeStartArray();
                for (Object each : (Collection<?>) value) {
                    write(json, shape.items, each);
                }
                json.writeEndArray();
            }
            case MAP -> map(json, shape, (Map<?, ?>) value);
            case STRUCT -> struct(json, shape, (Struct) value);
            case DECIMAL -> {
                BigDecimal decimal = (BigDecimal) value;
                if (numeric) {
                    json.writeNumber(decimal);
                } else {
                    json.writeBinary(Decimal.fromLogical(shape.schema, decimal));
                }
            }
            case DATE -> json.writeNumber(Date.fromLogical(shape.schema, (java.util.Date) value));
            case TIME -> json.writeNumber(Time.fromLogical(shape.schema, (java.util.Date) value));
            case TIMESTAMP -> json.writeNumber(Timestamp.fromLogical(shape.schema, (java.util.Date) value));
            default -> throw UNSURE;
        }
    }

    private void struct(JsonGenerator json, Shape shape, Struct struct) throws IOException {
        if (struct.schema() != shape.schema && !struct.schema().equals(shape.schema)) {
            throw UNSURE;
        }
        json.writeStartObject();
        List<Field> fields = shape.schema.fields();
        for (int i = 0; i < shape.fields.length; i++) {
            json.writeFieldName(shape.names[i]);
            write(json, shape.fields[i], struct.getWithoutDefault(fields.get(i).name()));
        }
        json.writeEndObject();
    }

    /** An object, if its keys are of strings. */
    private void map(JsonGenerator json, Shape shape, Map<?, ?> map) throws IOException {
        Schema keys = shape.schema.keySchema();
        if (keys.type() != Schema.Type.STRING || keys.name() != null) {
            throw UNSURE;
        }
        json.writeStartObject();
        for (Map.Entry<?, ?> each : map.entrySet()) {
            if (each.getKey() == null) {
                throw UNSURE;
            }
            json.writeFieldName((String) each.getKey());
            write(json, shape.items, each.getValue());
        }
        json.writeEndObject();
    }

    private static byte[] whole(ByteBuffer buffer) {
        if (!buffer.hasArray() || buffer.remaining() != buffer.array().length) {
            throw UNSURE;
        }
        return buffer.array();
    }
}
