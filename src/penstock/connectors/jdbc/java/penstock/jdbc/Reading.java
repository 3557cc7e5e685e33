package penstock.jdbc;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Array;
import java.sql.Date;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.TimeZone;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.mutable.ArraySeq;

/**
 * How a column of a result is read, by the names of penstock/connectors/jdbc/source/types.py. A null is looked for
 * afterwards.
 */
enum Reading {
    BOOLEAN(DataTypes.BooleanType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getBoolean(i);
        }
    },
    INT8(DataTypes.ByteType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getByte(i);
        }
    },
    INT16(DataTypes.ShortType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getShort(i);
        }
    },
    INT32(DataTypes.IntegerType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getInt(i);
        }
    },
    INT64(DataTypes.LongType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getLong(i);
        }
    },
    FLOAT32(DataTypes.FloatType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getFloat(i);
        }
    },
    FLOAT64(DataTypes.DoubleType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getDouble(i);
        }
    },
    STRING(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getString(i);
        }
    },
    BYTES(DataTypes.BinaryType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return rows.getBytes(i);
        }
    },
    /** PostgreSQL's bit strings of at most eight bits. */
    BITS(DataTypes.ByteType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            String digits = rows.getString(i);
            return digits == null ? null : new BigInteger(digits, 2).byteValue();
        }
    },
    /** Arrays of PostgreSQL, by their items. */
    BOOLEANS(DataTypes.createArrayType(DataTypes.BooleanType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, item -> item);
        }
    },
    INT16S(DataTypes.createArrayType(DataTypes.ShortType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, item -> ((Number) item).shortValue());
        }
    },
    INT32S(DataTypes.createArrayType(DataTypes.IntegerType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, item -> item);
        }
    },
    INT64S(DataTypes.createArrayType(DataTypes.LongType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, item -> item);
        }
    },
    FLOAT32S(DataTypes.createArrayType(DataTypes.FloatType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, item -> item);
        }
    },
    FLOAT64S(DataTypes.createArrayType(DataTypes.DoubleType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, item -> item);
        }
    },
    STRINGS(DataTypes.createArrayType(DataTypes.StringType)) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return items(rows, i, Object::toString);
        }
    },
    /** As text, from which its scale can be told: Connect's decimals may have more digits than Spark's. */
    DECIMAL(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            BigDecimal value = rows.getBigDecimal(i);
            return value == null ? null : value.setScale(scale).toString();
        }
    },
    /** Days since 1970. */
    DATE(DataTypes.IntegerType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Date value = rows.getDate(i, zones.utc);
            return value == null ? null : (int) Math.floorDiv(value.getTime(), 86_400_000L);
        }
    },
    /** Milliseconds since midnight. */
    TIME(DataTypes.IntegerType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Time value = rows.getTime(i, zones.database);
            return value == null ? null : (int) Math.floorMod(value.getTime(), 86_400_000L);
        }
    },
    MICROS(DataTypes.LongType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = rows.getTimestamp(i, zones.database);
            return value == null ? null : micros(value);
        }
    },
    NANOS(DataTypes.LongType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = rows.getTimestamp(i, zones.database);
            return value == null ? null : nanos(value);
        }
    },
    MICROS_TEXT(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = rows.getTimestamp(i, zones.database);
            return value == null ? null : Long.toString(micros(value));
        }
    },
    NANOS_TEXT(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = rows.getTimestamp(i, zones.database);
            return value == null ? null : Long.toString(nanos(value));
        }
    },
    MICROS_ISO(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.text(rows.getTimestamp(i, zones.database), zones.micros);
        }
    },
    NANOS_ISO(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.text(rows.getTimestamp(i, zones.database), zones.nanos);
        }
    };

    final DataType type;

    Reading(DataType type) {
        this.type = type;
    }

    abstract Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException;

    /** As Spark has arrays. */
    private static Object items(ResultSet rows, int i, UnaryOperator<Object> made) throws SQLException {
        Array array = rows.getArray(i);
        if (array == null) return null;
        Object[] items = (Object[]) array.getArray();
        Object[] found = new Object[items.length];
        for (int k = 0; k < items.length; k++) {
            if (items[k] instanceof Object[]) throw new SQLException("it has an array of arrays");
            found[k] = items[k] == null ? null : made.apply(items[k]);
        }
        return ArraySeq.make(found);
    }

    static long seconds(Timestamp value) {
        return Math.floorDiv(value.getTime(), 1000L);
    }

    private static long micros(Timestamp value) {
        return Math.addExact(Math.multiplyExact(seconds(value), 1_000_000L), value.getNanos() / 1000);
    }

    private static long nanos(Timestamp value) {
        return Math.addExact(Math.multiplyExact(seconds(value), 1_000_000_000L), value.getNanos());
    }

    /** The zone of times in the database, and UTC; for one thread. */
    static final class Zones {
        final Calendar database;
        final Calendar utc = new GregorianCalendar(TimeZone.getTimeZone("UTC"));
        final DateTimeFormatter micros;
        final DateTimeFormatter nanos;

        Zones(String zone) {
            database = new GregorianCalendar(TimeZone.getTimeZone(zone));
            micros = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS").withZone(ZoneId.of(zone));
            nanos = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS").withZone(ZoneId.of(zone));
        }

        String text(Timestamp value, DateTimeFormatter format) {
            if (value == null) return null;
            return format.format(Instant.ofEpochSecond(seconds(value), value.getNanos()));
        }
    }
}
