package penstock.host.columns;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;

/** Writes columns of Connect's values, by their own classes: a tag, which of them are null, and what they hold. */
public final class ColumnWriter {
    private static final int MAX_GROUPS = 255;

    private final Out out;
    private final SchemaTable schemas;

    public ColumnWriter(Out out, SchemaTable schemas) {
        this.out = out;
        this.schemas = schemas;
    }

    /** Numbers of schemas: one for all, or one each; 0 for none. */
    public void schemas(Schema[] column) {
        int n = column.length;
        boolean same = true;
        for (int i = 1; i < n && same; i++) {
            same = column[i] == column[0];
        }
        out.u8(same ? 1 : 0);
        out.i32(n);
        for (int i = 0; i < (same ? Math.min(1, n) : n); i++) {
            out.i32(column[i] == null ? 0 : schemas.number(column[i]));
        }
    }

    /** A column whose values have these schemas; those of one group also have one schema. */
    public void column(Schema[] declared, Object[] values) {
        boolean same = true;
        for (int i = 1; i < declared.length && same; i++) {
            same = declared[i] == declared[0];
        }
        if (same) {
            column(values);
        } else {
            mixed(declared, values);
        }
    }

    public void column(Object[] values) {
        Object kind = null;
        int nulls = 0;
        for (Object value : values) {
            if (value == null) {
                nulls++;
                continue;
            }
            Object own = kind(value);
            if (kind == null) {
                kind = own;
            } else if (kind != own && !kind.equals(own)) {
                mixed(null, values);
                return;
            }
        }
        if (kind == null) {
            out.u8(Tag.NULLS);
            out.i32(values.length);
            return;
        }
        Object[] present = values;
        out.u8(kind instanceof Schema ? Tag.STRUCT : (Integer) kind);
        out.i32(values.length);
        out.u8(nulls == 0 ? 0 : 1);
        if (nulls > 0) {
            present = new Object[values.length - nulls];
            int at = 0;
            for (Object value : values) {
                out.u8(value == null ? 1 : 0);
                if (value != null) {
                    present[at++] = value;
                }
            }
        }
        if (kind instanceof Schema) {
            structs((Schema) kind, present);
        } else {
            data((Integer) kind, present);
        }
    }

    /** The tag of a value, or the schema of a struct. */
    private static Object kind(Object value) {
        if (value instanceof String) {
            return Tag.STRING;
        } else if (value instanceof Struct) {
            return ((Struct) value).schema();
        } else if (value instanceof Long) {
            return Tag.INT64;
        } else if (value instanceof Integer) {
            return Tag.INT32;
        } else if (value instanceof Double) {
            return Tag.FLOAT64;
        } else if (value instanceof Boolean) {
            return Tag.BOOLEAN;
        } else if (value instanceof byte[] || value instanceof ByteBuffer) {
            return Tag.BYTES;
        } else if (value instanceof Map) {
            return Tag.MAP;
        } else if (value instanceof Collection) {
            return Tag.ARRAY;
        } else if (value instanceof Float) {
            return Tag.FLOAT32;
        } else if (value instanceof Short) {
            return Tag.INT16;
        } else if (value instanceof Byte) {
            return Tag.INT8;
        } else if (value instanceof BigDecimal) {
            return Tag.DECIMAL;
        } else if (value instanceof Date) {
            return Tag.DATE;
        }
        throw new DataException("Java class " + value.getClass().getName() + " does not have a corresponding schema type.");
    }

    /** Values of several kinds: a column for each kind, and for each row the number of its kind. */
    private void mixed(Schema[] declared, Object[] values) {
        Map<List<Object>, Integer> numbers = new LinkedHashMap<>();
        List<List<Object>> groups = new ArrayList<>();
        List<Integer> firsts = new ArrayList<>();
        int[] rows = new int[values.length];
        for (int i = 0; i < values.length; i++) {
            List<Object> key = Arrays.asList(
                values[i] == null ? null : kind(values[i]), declared == null ? null : declared[i]);
            Integer number = numbers.get(key);
            if (number == null) {
                number = groups.size();
                numbers.put(key, number);
                groups.add(new ArrayList<>());
                firsts.add(i);
            }
            rows[i] = number;
            groups.get(number).add(values[i]);
        }
        out.u8(Tag.MIXED);
        out.i32(values.length);
        out.i32(groups.size());
        for (int row : rows) {
            if (groups.size() <= MAX_GROUPS) {
                out.u8(row);
            } else {
                out.i32(row);
            }
        }
        for (int i = 0; i < groups.size(); i++) {
            out.i32(firsts.get(i));
            column(groups.get(i).toArray());
        }
    }

    private void structs(Schema schema, Object[] values) {
        List<Field> fields = schema.fields();
        out.i32(schemas.number(schema));
        Object[] column = new Object[values.length];
        for (Field field : fields) {
            String name = field.name();
            for (int i = 0; i < values.length; i++) {
                column[i] = ((Struct) values[i]).getWithoutDefault(name);
            }
            column(column);
        }
    }

    private void data(int tag, Object[] values) {
        switch (tag) {
            case Tag.INT8 -> {
                for (Object value : values) {
                    out.u8((Byte) value);
                }
            }
            case Tag.INT16 -> {
                for (Object value : values) {
                    out.i16((Short) value);
                }
            }
            case Tag.INT32 -> {
                for (Object value : values) {
                    out.i32((Integer) value);
                }
            }
            case Tag.INT64 -> {
                for (Object value : values) {
                    out.i64((Long) value);
                }
            }
            case Tag.FLOAT32 -> {
                for (Object value : values) {
                    out.f32((Float) value);
                }
            }
            case Tag.FLOAT64 -> {
                for (Object value : values) {
                    out.f64((Double) value);
                }
            }
            case Tag.BOOLEAN -> {
                for (Object value : values) {
                    out.u8((Boolean) value ? 1 : 0);
                }
            }
            case Tag.STRING -> strings(values);
            case Tag.BYTES -> blobs(values);
            case Tag.ARRAY -> arrays(values);
            case Tag.MAP -> maps(values);
            case Tag.DECIMAL -> decimals(values);
            case Tag.DATE -> {
                for (Object value : values) {
                    out.i64(((Date) value).getTime());
                }
            }
            default -> throw new IllegalStateException("tag " + tag);
        }
    }

    /** The number of code points of each, and all of them in UTF-8. */
    public void strings(Object[] values) {
        int lengths = out.position();
        for (int i = 0; i <= values.length; i++) {
            out.i32(0);
        }
        int start = out.position();
        for (int i = 0; i < values.length; i++) {
            String value = (String) values[i];
            byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
            int points = utf8.length == value.length() ? utf8.length : value.codePointCount(0, value.length());
            out.setI32(lengths + 4 * i, points);
            out.bytes(utf8);
        }
        out.setI32(lengths + 4 * values.length, out.position() - start);
    }

    private void blobs(Object[] values) {
        int lengths = out.position();
        for (int i = 0; i < values.length; i++) {
            out.i32(0);
        }
        for (int i = 0; i < values.length; i++) {
            byte[] value = bytes(values[i]);
            out.setI32(lengths + 4 * i, value.length);
            out.bytes(value);
        }
    }

    private static byte[] bytes(Object value) {
        if (value instanceof byte[]) {
            return (byte[]) value;
        }
        ByteBuffer buffer = ((ByteBuffer) value).duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private void arrays(Object[] values) {
        List<Object> items = new ArrayList<>();
        for (Object value : values) {
            out.i32(((Collection<?>) value).size());
            items.addAll((Collection<?>) value);
        }
        column(items.toArray());
    }

    private void maps(Object[] values) {
        List<Object> keys = new ArrayList<>();
        List<Object> items = new ArrayList<>();
        for (Object value : values) {
            out.i32(((Map<?, ?>) value).size());
            ((Map<?, ?>) value).forEach((key, item) -> {
                keys.add(key);
                items.add(item);
            });
        }
        column(keys.toArray());
        column(items.toArray());
    }

    private void decimals(Object[] values) {
        Object[] unscaled = new Object[values.length];
        for (int i = 0; i < values.length; i++) {
            out.i32(((BigDecimal) values[i]).scale());
            unscaled[i] = ((BigDecimal) values[i]).unscaledValue().toByteArray();
        }
        blobs(unscaled);
    }
}
