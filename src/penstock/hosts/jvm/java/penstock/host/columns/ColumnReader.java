package penstock.host.columns;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/** Reads the columns that {@code codec/encode.py} has written. */
public final class ColumnReader {
    private final ByteBuffer in;
    private final SchemaTable schemas;

    public ColumnReader(ByteBuffer in, SchemaTable schemas) {
        this.in = in;
        this.schemas = schemas;
    }

    public Schema[] schemas() {
        boolean same = in.get() == 1;
        Schema[] column = new Schema[in.getInt()];
        if (same && column.length > 0) {
            Arrays.fill(column, schemas.get(in.getInt()));
        } else {
            for (int i = 0; i < column.length; i++) {
                column[i] = schemas.get(in.getInt());
            }
        }
        return column;
    }

    public Object[] column() {
        int tag = in.get();
        Object[] values = new Object[in.getInt()];
        if (tag == Tag.NULLS) {
            return values;
        }
        if (tag == Tag.REPEATED) {
            Arrays.fill(values, column()[0]);
            return values;
        }
        if (tag == Tag.SEQUENCE) {
            long first = in.getLong();
            for (int i = 0; i < values.length; i++) {
                values[i] = first + i;
            }
            return values;
        }
        if (tag == Tag.MIXED) {
            mixed(values);
            return values;
        }
        if (in.get() == 0) {
            data(tag, values);
            return values;
        }
        byte[] nulls = new byte[values.length];
        in.get(nulls);
        int present = 0;
        for (byte each : nulls) {
            present += 1 - each;
        }
        Object[] found = new Object[present];
        data(tag, found);
        int at = 0;
        for (int i = 0; i < nulls.length; i++) {
            values[i] = nulls[i] == 1 ? null : found[at++];
        }
        return values;
    }

    private void mixed(Object[] values) {
        int[] rows = new int[values.length];
        int groups = in.getInt();
        for (int i = 0; i < rows.length; i++) {
            rows[i] = groups <= 255 ? in.get() & 0xff : in.getInt();
        }
        Object[][] columns = new Object[groups][];
        for (int i = 0; i < groups; i++) {
            in.getInt();
            columns[i] = column();
        }
        int[] next = new int[groups];
        for (int i = 0; i < rows.length; i++) {
            values[i] = columns[rows[i]][next[rows[i]]++];
        }
    }

    private void data(int tag, Object[] values) {
        int n = values.length;
        switch (tag) {
            case Tag.INT8 -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.get();
                }
            }
            case Tag.INT16 -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.getShort();
                }
            }
            case Tag.INT32 -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.getInt();
                }
            }
            case Tag.INT64 -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.getLong();
                }
            }
            case Tag.FLOAT32 -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.getFloat();
                }
            }
            case Tag.FLOAT64 -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.getDouble();
                }
            }
            case Tag.BOOLEAN -> {
                for (int i = 0; i < n; i++) {
                    values[i] = in.get() == 1;
                }
            }
            case Tag.STRING -> strings(values);
            case Tag.BYTES -> blobs(values);
            case Tag.ARRAY -> arrays(values);
            case Tag.MAP -> maps(values);
            case Tag.STRUCT -> structs(values);
            case Tag.DECIMAL -> decimals(values);
            case Tag.DATE -> {
                for (int i = 0; i < n; i++) {
                    values[i] = new Date(in.getLong());
                }
            }
            default -> throw new IllegalStateException("tag " + tag);
        }
    }

    private int[] lengths(int n) {
        int[] lengths = new int[n];
        for (int i = 0; i < n; i++) {
            lengths[i] = in.getInt();
        }
        return lengths;
    }

    private void strings(Object[] values) {
        int[] lengths = lengths(values.length);
        for (int i = 0; i < values.length; i++) {
            values[i] = new String(in.array(), in.arrayOffset() + in.position(), lengths[i], StandardCharsets.UTF_8);
            in.position(in.position() + lengths[i]);
        }
    }

    private void blobs(Object[] values) {
        int[] lengths = lengths(values.length);
        for (int i = 0; i < values.length; i++) {
            byte[] value = new byte[lengths[i]];
            in.get(value);
            values[i] = value;
        }
    }

    private void arrays(Object[] values) {
        int[] lengths = lengths(values.length);
        List<Object> items = Arrays.asList(column());
        int at = 0;
        for (int i = 0; i < values.length; i++) {
            values[i] = new ArrayList<>(items.subList(at, at + lengths[i]));
            at += lengths[i];
        }
    }

    private void maps(Object[] values) {
        int[] lengths = lengths(values.length);
        Object[] keys = column();
        Object[] items = column();
        int at = 0;
        for (int i = 0; i < values.length; i++) {
            Map<Object, Object> map = new LinkedHashMap<>();
            for (int j = 0; j < lengths[i]; j++, at++) {
                map.put(keys[at], items[at]);
            }
            values[i] = map;
        }
    }

    private void structs(Object[] values) {
        Schema schema = schemas.get(in.getInt());
        for (int i = 0; i < values.length; i++) {
            values[i] = new Struct(schema);
        }
        for (Field field : schema.fields()) {
            Object[] column = column();
            for (int i = 0; i < values.length; i++) {
                if (column[i] != null) {
                    ((Struct) values[i]).put(field, column[i]);
                }
            }
        }
    }

    private void decimals(Object[] values) {
        int[] scales = lengths(values.length);
        blobs(values);
        for (int i = 0; i < values.length; i++) {
            values[i] = new BigDecimal(new BigInteger((byte[]) values[i]), scales[i]);
        }
    }
}
