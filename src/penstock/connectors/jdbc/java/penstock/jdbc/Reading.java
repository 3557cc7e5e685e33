package penstock.jdbc;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.JavaConverters;

/**
 * How a column of a result is read, by the names of penstock/connectors/jdbc/source/types.py. A null is looked for
 * afterwards.
 */
enum Reading {
    BOOLEAN(DataTypes.BooleanType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.moments.style == Moments.Style.MYSQL ? flag(rows.getLong(i)) : rows.getBoolean(i);
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
    /** PostgreSQL's, whose drivers give it as a floating-point number. */
    MONEY(DataTypes.DoubleType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            String text = rows.getString(i);
            if (text == null) return null;
            if (!text.matches("-?\\$[0-9,]+(\\.[0-9]+)?"))
                throw new SQLException(text + " is in the form of a locale: cast it to NUMERIC in `query`");
            BigDecimal value = new BigDecimal(text.replaceAll("[$,]", ""));
            double found = value.doubleValue();
            if (BigDecimal.valueOf(found).compareTo(value) != 0)
                throw new SQLException(value + " has more digits than such a number: cast it to NUMERIC in `query`");
            return found;
        }
    },
    /** PostgreSQL's bit strings of at most eight bits, and MariaDB's and MySQL's of more, if their value fits. */
    BITS(DataTypes.ByteType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            if (zones.moments.style == Moments.Style.MYSQL) {
                byte[] bits = rows.getBytes(i);
                return bits == null ? null : small(new BigInteger(1, bits));
            }
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
            boolean sqlite = zones.moments.style == Moments.Style.SQLITE;
            BigDecimal value = sqlite ? SqliteValues.decimal(rows, i, scale) : rows.getBigDecimal(i);
            return value == null ? null : value.setScale(scale).toString();
        }
    },
    /** Days since 1970. */
    DATE(DataTypes.IntegerType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.moments.days(rows, i);
        }
    },
    /** Milliseconds since midnight. */
    TIME(DataTypes.IntegerType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.moments.time(rows, i);
        }
    },
    /** Times of day as the database writes them: any of MariaDB's and MySQL's, which may be durations. */
    TIME_TEXT(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.moments.timeText(rows, i);
        }
    },
    MICROS(DataTypes.LongType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = zones.moments.moment(rows, i);
            return value == null ? null : micros(value);
        }
    },
    NANOS(DataTypes.LongType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = zones.moments.moment(rows, i);
            return value == null ? null : nanos(value);
        }
    },
    MICROS_TEXT(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = zones.moments.moment(rows, i);
            return value == null ? null : Long.toString(micros(value));
        }
    },
    NANOS_TEXT(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            Timestamp value = zones.moments.moment(rows, i);
            return value == null ? null : Long.toString(nanos(value));
        }
    },
    MICROS_ISO(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.text(zones.moments.moment(rows, i), zones.micros);
        }
    },
    NANOS_ISO(DataTypes.StringType) {
        @Override
        Object of(ResultSet rows, int i, Zones zones, int scale) throws SQLException {
            return zones.text(zones.moments.moment(rows, i), zones.nanos);
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
        return JavaConverters.asScalaBuffer(Arrays.asList(found));
    }

    /** MariaDB's BOOLEAN is a TINYINT(1), of which the driver makes true unless it is 0. */
    private static boolean flag(long value) throws SQLException {
        if (value != 0 && value != 1)
            throw new SQLException(value + " is neither 0 nor 1: cast it to SIGNED in `query`, or leave it out");
        return value == 1;
    }

    /** MariaDB's driver would give the first byte, whatever the others are. */
    private static byte small(BigInteger value) throws SQLException {
        if (value.bitLength() > 7)
            throw new SQLException(value + " is more than 127: cast it to UNSIGNED in `query`, or leave it out");
        return value.byteValue();
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

    /** The zone of times in the database; for one thread. */
    static final class Zones {
        final Moments moments;
        final DateTimeFormatter micros;
        final DateTimeFormatter nanos;

        Zones(Connection connection, String zone) throws SQLException {
            moments = new Moments(Moments.Style.of(connection), zone, "UTC");
            micros = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS").withZone(ZoneId.of(zone));
            nanos = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS").withZone(ZoneId.of(zone));
        }

        String text(Timestamp value, DateTimeFormatter format) {
            if (value == null) return null;
            return format.format(Instant.ofEpochSecond(seconds(value), value.getNanos()));
        }
    }
}
