package penstock.tests.everything;

import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Values with every type and every detail that a schema can have. */
final class Values {
    static final Schema INNER = SchemaBuilder.struct().name("penstock.Inner").version(3).doc("an inner one")
        .parameter("a", "1").parameter("b", "").optional()
        .field("text", SchemaBuilder.string().optional().defaultValue("a default").build())
        .field("number", Schema.OPTIONAL_INT32_SCHEMA)
        .build();
    static final Schema ALL = SchemaBuilder.struct().name("penstock.All").version(12).doc("all types")
        .parameter("owner", "tests")
        .field("int8", Schema.INT8_SCHEMA).field("int16", Schema.INT16_SCHEMA)
        .field("int32", SchemaBuilder.int32().name("an.int").version(2).doc("named").parameter("p", "q").build())
        .field("int64", SchemaBuilder.int64().defaultValue(7L).build())
        .field("float32", Schema.FLOAT32_SCHEMA).field("float64", Schema.FLOAT64_SCHEMA)
        .field("boolean", Schema.BOOLEAN_SCHEMA)
        .field("string", Schema.STRING_SCHEMA).field("bytes", Schema.BYTES_SCHEMA)
        .field("buffer", Schema.OPTIONAL_BYTES_SCHEMA)
        .field("decimal", Decimal.builder(2).optional().build())
        .field("date", Date.SCHEMA).field("time", Time.SCHEMA).field("timestamp", Timestamp.SCHEMA)
        .field("debezium", SchemaBuilder.int64().name("io.debezium.time.MicroTimestamp").version(1).build())
        .field("array", SchemaBuilder.array(SchemaBuilder.int64().optional().doc("an element").build()).build())
        .field("map", SchemaBuilder.map(Schema.STRING_SCHEMA, INNER).optional().build())
        .field("numbers", SchemaBuilder.map(Schema.INT32_SCHEMA, Schema.FLOAT64_SCHEMA).optional().build())
        .field("inner", INNER)
        .field("nothing", Schema.OPTIONAL_STRING_SCHEMA)
        .build();

    private Values() {
    }

    private static Struct inner(String text, Integer number) {
        return new Struct(INNER).put("text", text).put("number", number);
    }

    static Struct all(int i) {
        Map<String, Struct> map = new LinkedHashMap<>();
        map.put("first", inner("x" + i, i));
        map.put("second", null);
        Map<Integer, Double> numbers = new LinkedHashMap<>();
        numbers.put(i, i / 3.0);
        return new Struct(ALL)
            .put("int8", (byte) (i - 128)).put("int16", (short) (i * 7)).put("int32", i * 1_000_003)
            .put("int64", Long.MIN_VALUE + i)
            .put("float32", i % 5 == 0 ? Float.NaN : i / 7f).put("float64", i % 7 == 0 ? Double.POSITIVE_INFINITY : i / 7.0)
            .put("boolean", i % 2 == 0)
            .put("string", "number " + i + " \u00fc \ud83d\ude00 \"\\")
            .put("bytes", new byte[] {(byte) i, 0, -1})
            .put("buffer", i % 3 == 0 ? null : ByteBuffer.wrap(new byte[] {1, (byte) i}))
            .put("decimal", i % 4 == 0 ? null : new BigDecimal("-123456789012345678901234567890.12").add(BigDecimal.valueOf(i)))
            .put("date", new java.util.Date(86_400_000L * i)).put("time", new java.util.Date(1000L * i))
            .put("timestamp", new java.util.Date(1_700_000_000_123L + i))
            .put("debezium", 1_700_000_000_123_456L + i)
            .put("array", new ArrayList<>(Arrays.asList(1L, null, (long) i)))
            .put("map", i % 6 == 0 ? null : map)
            .put("numbers", numbers)
            .put("inner", i % 5 == 1 ? null : inner(i % 2 == 0 ? null : "text", i % 3 == 0 ? null : i))
            .put("nothing", null);
    }

    /** Values that are no structs, with and without schemas. */
    static SchemaAndValue plain(int i) {
        Map<String, Object> free = new LinkedHashMap<>();
        free.put("a", (long) i);
        free.put("b", List.of("x", 1L, true));
        return switch (i % 12) {
            case 0 -> new SchemaAndValue(null, null);
            case 1 -> new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, null);
            case 2 -> new SchemaAndValue(null, free);
            case 3 -> new SchemaAndValue(Schema.INT32_SCHEMA, i);
            case 4 -> new SchemaAndValue(Timestamp.SCHEMA, new java.util.Date(i));
            case 5 -> new SchemaAndValue(Decimal.schema(3), new BigDecimal("1.500"));
            case 6 -> new SchemaAndValue(SchemaBuilder.array(INNER).build(), Arrays.asList(inner("y", 1), null));
            case 7 -> new SchemaAndValue(null, "without a schema");
            case 8 -> new SchemaAndValue(null, 3.5);
            case 9 -> new SchemaAndValue(Schema.BYTES_SCHEMA, ByteBuffer.wrap(new byte[] {9, 8}));
            case 10 -> new SchemaAndValue(SchemaBuilder.map(Schema.STRING_SCHEMA, Schema.INT8_SCHEMA).build(), Map.of("k", (byte) 1));
            default -> new SchemaAndValue(Schema.BOOLEAN_SCHEMA, true);
        };
    }
}
