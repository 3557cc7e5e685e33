package penstock.jdbc;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.DateTimeException;
import java.util.Calendar;
import java.util.List;
import org.apache.spark.sql.Row;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** A value that its column can't hold: the row is refused. */
final class UnfitException extends RuntimeException {
    UnfitException(String message) {
        super(message);
    }
}

/** Records with the same columns: their statement, and how each parameter is bound. */
public final class Shape implements Serializable {
    private static final long DAY = 86_400_000L;
    /** Precedes the type of the items. */
    private static final String ARRAY = "ARRAY ";
    /** Precedes the bits of a floating-point number for a column of decimals: of a FLOAT PostgreSQL would keep 15 digits,
        or 6 of 32 bits. */
    private static final String EXACT = "EXACT";

    final String sql;
    /** Does for many rows what {@code sql} does for one; null if there is no such statement. */
    final String copy;
    private final String[] names;
    private final String[] kinds;
    private final int[] fields;
    /** Null for a parameter whose values are not checked. */
    private final Room[] rooms;
    private final String zone;
    private final String dateZone;
    private transient Calendar calendar;
    private transient Calendar dateCalendar;
    private transient Moments moments;

    /** {@code names}, of columns, {@code kinds}, {@code fields} and {@code rooms} have an entry for each parameter; a
        field is an index in the row, a room is what {@code Database.columns} tells of the column. */
    public Shape(
            String sql,
            String copy,
            List<String> names,
            List<String> kinds,
            List<Integer> fields,
            List<String> rooms,
            String zone,
            String dateZone) {
        this.sql = sql;
        this.copy = copy;
        this.names = names.toArray(new String[0]);
        this.kinds = kinds.toArray(new String[0]);
        this.fields = fields.stream().mapToInt(Integer::intValue).toArray();
        this.rooms = new Room[this.kinds.length];
        for (int i = 0; i < this.kinds.length; i++) {
            Room room = Room.of(rooms.get(i));
            if (room.changes(this.kinds[i])) this.rooms[i] = room;
            if (room.kind == Room.Kind.DECIMAL && this.kinds[i].startsWith("FLOAT"))
                this.kinds[i] = this.kinds[i].replace("FLOAT", EXACT);
        }
        this.zone = zone;
        this.dateZone = dateZone;
    }

    private void makeCalendars() {
        if (calendar != null) return;
        calendar = Moments.proleptic(zone);
        dateCalendar = Moments.proleptic(dateZone);
    }

    /** For one thread. Raises UnfitException for a value that no such column holds. */
    void bind(PreparedStatement statement, Row row) throws SQLException {
        makeCalendars();
        if (moments == null) moments = new Moments(Moments.Style.of(statement.getConnection()), zone, dateZone);
        for (int i = 0; i < kinds.length; i++) {
            Object value = row.isNullAt(fields[i]) ? null : row.get(fields[i]);
            try {
                check(i, value);
                bind(statement, i + 1, kinds[i], value);
            } catch (ArithmeticException | DateTimeException | UnfitException error) {
                throw unfit(i, error);
            }
        }
    }

    private void check(int i, Object value) {
        if (rooms[i] != null && value != null) rooms[i].check(value, kinds[i], calendar);
    }

    private UnfitException unfit(int i, RuntimeException error) {
        return new UnfitException("column `" + names[i] + "`: " + error.getMessage());
    }

    private void bind(PreparedStatement statement, int index, String kind, Object value) throws SQLException {
        if (value == null) {
            statement.setNull(index, type(kind));
            return;
        }
        if (kind.startsWith(ARRAY)) {
            Object[] items = JavaConverters.seqAsJavaList((Seq<?>) value).toArray();
            statement.setArray(index, statement.getConnection().createArrayOf(kind.substring(ARRAY.length()), items));
            return;
        }
        switch (kind) {
            case "INT8" -> statement.setByte(index, (Byte) value);
            case "INT16" -> statement.setShort(index, (Short) value);
            case "INT32" -> statement.setInt(index, (Integer) value);
            case "INT64" -> statement.setLong(index, (Long) value);
            case "FLOAT32" -> statement.setFloat(index, (Float) value);
            case "FLOAT64" -> statement.setDouble(index, (Double) value);
            case "EXACT32", "EXACT64" -> {
                BigDecimal number = Room.exact(value);
                if (number == null) statement.setDouble(index, ((Number) value).doubleValue());
                else statement.setBigDecimal(index, number);
            }
            case "BOOLEAN" -> statement.setBoolean(index, (Boolean) value);
            case "FLAG" -> statement.setShort(index, (short) ((Boolean) value ? 1 : 0));
            case "STRING" -> statement.setString(index, (String) value);
            case "BYTES", "BLOB" -> statement.setBytes(index, (byte[]) value);
            case "DECIMAL" -> statement.setBigDecimal(index, new BigDecimal((String) value));
            case "DIGITS15" -> statement.setBigDecimal(index, SqliteValues.fitting(new BigDecimal((String) value)));
            case "DATE" -> moments.setDate(statement, index, (Integer) value * DAY);
            case "TIME" -> statement.setTime(index, new Time((Integer) value), calendar);
            case "TIMESTAMP" -> moments.setTimestamp(statement, index, new Timestamp((Long) value));
            case "MICROS" -> moments.setTimestamp(statement, index, moment((String) value, 1_000_000));
            case "NANOS" -> moments.setTimestamp(statement, index, moment((String) value, 1_000_000_000));
            default -> throw new IllegalArgumentException(kind);
        }
    }

    /** The same values as {@code bind} gives to the statement, for {@code copy}. Raises UnfitException as that does. */
    void write(CopyText text, Row row) {
        makeCalendars();
        for (int i = 0; i < kinds.length; i++) {
            if (i > 0) text.plain("\t");
            if (row.isNullAt(fields[i])) text.plain("\\N");
            else {
                try {
                    check(i, row.get(fields[i]));
                } catch (ArithmeticException | UnfitException error) {
                    throw unfit(i, error);
                }
                write(text, kinds[i], row.get(fields[i]));
            }
        }
    }

    private void write(CopyText text, String kind, Object value) {
        switch (kind) {
            case "INT8", "INT16", "INT32", "INT64", "FLOAT32", "FLOAT64", "DECIMAL" -> text.plain(value.toString());
            case "BOOLEAN" -> text.plain((Boolean) value ? "t" : "f");
            case "STRING" -> text.string((String) value);
            case "BYTES" -> text.binary((byte[]) value);
            case "DATE" -> {
                dateCalendar.setTimeInMillis((Integer) value * DAY);
                text.date(dateCalendar);
                text.era(dateCalendar);
            }
            case "TIME" -> {
                calendar.setTimeInMillis((Integer) value);
                text.time(calendar);
            }
            case "TIMESTAMP" -> {
                calendar.setTimeInMillis((Long) value);
                text.date(calendar);
                text.plain(" ");
                text.time(calendar);
                text.era(calendar);
            }
            default -> throw new IllegalArgumentException(kind);
        }
    }

    /** {@code text}: so many parts of a second since 1970. */
    static Timestamp moment(String text, int perSecond) {
        BigInteger unit = BigInteger.valueOf(perSecond);
        BigInteger all = new BigInteger(text);
        BigInteger rest = all.mod(unit);
        Timestamp made = new Timestamp(all.subtract(rest).divide(unit).longValueExact() * 1000);
        made.setNanos(rest.intValueExact() * (1_000_000_000 / perSecond));
        return made;
    }

    private static int type(String kind) {
        if (kind.startsWith(ARRAY)) return Types.ARRAY;
        return switch (kind) {
            case "INT8", "INT16", "FLAG" -> Types.SMALLINT;
            case "INT32" -> Types.INTEGER;
            case "INT64" -> Types.BIGINT;
            case "FLOAT32" -> Types.REAL;
            case "FLOAT64" -> Types.DOUBLE;
            case "BOOLEAN" -> Types.BOOLEAN;
            case "BLOB" -> Types.BLOB;
            case "BYTES" -> Types.VARBINARY;
            case "DECIMAL", "DIGITS15", "EXACT32", "EXACT64" -> Types.DECIMAL;
            case "DATE" -> Types.DATE;
            case "TIME" -> Types.TIME;
            case "TIMESTAMP", "MICROS", "NANOS" -> Types.TIMESTAMP;
            default -> Types.VARCHAR;
        };
    }
}
