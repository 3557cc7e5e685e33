package penstock.jdbc;

import java.io.Serializable;
import java.math.BigDecimal;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Calendar;
import java.util.List;
import java.util.Locale;

/** The values that a column of a table holds unchanged, by what the driver tells of its type. Databases round or cut
    others without an error: digits after the point, a time of day, spaces at the end of a text. */
final class Room implements Serializable {
    private static final long serialVersionUID = 1;

    enum Kind {ANY, DECIMAL, WHOLE, SINGLE, DOUBLE, DAY, MOMENT, TIME, TEXT}

    private static final List<String> MOMENTS = List.of("TIMESTAMP", "MICROS", "NANOS");
    private static final List<String> INTEGERS = List.of("INT8", "INT16", "INT32", "INT64");
    private static final List<String> FLOATS = List.of("FLOAT32", "FLOAT64");
    private static final List<String> DECIMALS = List.of("DECIMAL", "DIGITS15");
    /** Digits of a DECIMAL that has any number of them. */
    private static final int OPEN = Integer.MAX_VALUE;
    private static final int NANO_DIGITS = 9;

    final Kind kind;
    private final int size;

    private Room(Kind kind, int size) {
        this.kind = kind;
        this.size = size;
    }

    /** {@code text}: of {@code text}; empty for a column that takes whatever the database makes of a value. */
    static Room of(String text) {
        String[] parts = text.split(" ");
        return text.isEmpty() ? new Room(Kind.ANY, 0) : new Room(Kind.valueOf(parts[0]), Integer.parseInt(parts[1]));
    }

    /** A column of a result, as text for Python, which hands it to {@code Shape}. */
    static String text(ResultSetMetaData found, int i, Moments.Style style, boolean derby) throws SQLException {
        Room room = of(found, i, style, derby);
        return room.kind == Kind.ANY ? "" : room.kind + " " + room.size;
    }

    private static Room of(ResultSetMetaData found, int i, Moments.Style style, boolean derby) throws SQLException {
        String name = String.valueOf(found.getColumnTypeName(i)).toUpperCase(Locale.ROOT);
        // A value of SQLite has its own type, but columns of these names make floating-point numbers of all numbers.
        if (style == Moments.Style.SQLITE)
            return name.matches(".*(REAL|FLOA|DOUB).*") ? new Room(Kind.DOUBLE, 0) : new Room(Kind.MOMENT, 3);
        if (style == Moments.Style.POSTGRESQL && name.equals("MONEY")) return new Room(Kind.DECIMAL, 2);
        boolean known = style == Moments.Style.POSTGRESQL || style == Moments.Style.MYSQL;
        int type = found.getColumnType(i);
        return switch (type) {
            case Types.NUMERIC, Types.DECIMAL -> new Room(Kind.DECIMAL, digits(found, i));
            case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT -> new Room(Kind.WHOLE, 0);
            case Types.BIT, Types.BOOLEAN -> new Room(style == Moments.Style.MYSQL ? Kind.WHOLE : Kind.ANY, 0);
            case Types.REAL -> new Room(Kind.SINGLE, 0);
            case Types.FLOAT, Types.DOUBLE -> new Room(Kind.DOUBLE, 0);
            case Types.DATE -> new Room(Kind.DAY, 0);
            // Other drivers do not tell how many digits times have; Derby's TIMESTAMP has nine.
            case Types.TIMESTAMP -> known ? new Room(Kind.MOMENT, found.getScale(i)) : new Room(Kind.ANY, 0);
            case Types.TIME -> known || derby ? new Room(Kind.TIME, derby ? 0 : found.getScale(i)) : new Room(Kind.ANY, 0);
            case Types.VARCHAR -> new Room(Kind.TEXT, found.getPrecision(i));
            default -> new Room(Kind.ANY, 0);
        };
    }

    private static int digits(ResultSetMetaData found, int i) throws SQLException {
        int scale = found.getScale(i);
        if (found.getPrecision(i) <= 0 || scale < -1_000) return OPEN;
        // PostgreSQL's driver gives negative scales without their sign, in eleven bits.
        return scale >= 1_024 && scale < 2_048 ? scale - 2_048 : scale;
    }

    /** Whether values of this kind, of {@code Shape}, may be ones that the column changes. */
    boolean changes(String its) {
        return switch (kind) {
            case ANY -> false;
            case DECIMAL -> size != OPEN
                    && (FLOATS.contains(its) || DECIMALS.contains(its) || (size < 0 && INTEGERS.contains(its)));
            case WHOLE -> FLOATS.contains(its) || DECIMALS.contains(its);
            case SINGLE -> INTEGERS.contains(its) || DECIMALS.contains(its) || its.equals("FLOAT64");
            case DOUBLE -> its.equals("INT64") || DECIMALS.contains(its);
            case DAY -> MOMENTS.contains(its);
            // Milliseconds, micro- and nanoseconds.
            case MOMENT -> size < 3 * (1 + MOMENTS.indexOf(its));
            case TIME -> MOMENTS.contains(its) || (its.equals("TIME") && size < 3);
            case TEXT -> its.equals("STRING");
        };
    }

    /** Raises UnfitException for a value that the column would change. {@code zone}: of days in the database. */
    void check(Object value, String its, Calendar zone) {
        switch (kind) {
            case DECIMAL, WHOLE -> checkDigits(value);
            case SINGLE -> checkSingle(value, its);
            case DOUBLE -> checkDouble(value);
            case DAY -> {
                Timestamp at = moment(value, its);
                zone.setTimeInMillis(at.getTime());
                boolean midnight = zone.get(Calendar.HOUR_OF_DAY) == 0
                        && zone.get(Calendar.MINUTE) == 0
                        && zone.get(Calendar.SECOND) == 0
                        && at.getNanos() == 0;
                if (!midnight) throw unfit(at.toInstant() + " has a time of day, and the column has days only");
            }
            case MOMENT -> {
                Timestamp at = moment(value, its);
                checkFraction(at.getNanos(), at.toInstant());
            }
            case TIME -> {
                if (!its.equals("TIME"))
                    throw unfit(moment(value, its).toInstant() + " has a day, and the column has times of day only");
                int millis = (Integer) value;
                checkFraction(Math.floorMod(millis, 1_000) * 1_000_000, millis + " ms after midnight");
            }
            case TEXT -> {
                String text = (String) value;
                if (text.endsWith(" ") && text.codePointCount(0, text.length()) > size)
                    throw unfit("the text has more than " + size + " characters, and spaces at its end");
            }
            default -> {}
        }
    }

    private void checkDigits(Object value) {
        BigDecimal number = exact(value);
        if (number == null || number.signum() == 0 || number.stripTrailingZeros().scale() <= size) return;
        String keeps = size > 0 ? size + " digits after the point" : "whole numbers";
        if (size < 0) keeps = "multiples of " + BigDecimal.ONE.scaleByPowerOfTen(-size).toPlainString();
        throw unfit(number.toPlainString() + " has more digits than the column, which keeps " + keeps);
    }

    private static void checkSingle(Object value, String its) {
        BigDecimal number = exact(value);
        if (number == null || number.signum() == 0) return;
        float single = number.floatValue();
        boolean whole = !(value instanceof Double) && number.stripTrailingZeros().scale() <= 0;
        if (single == 0 || Float.isInfinite(single) || (whole && new BigDecimal(single).compareTo(number) != 0))
            throw unfit(number + " is no floating-point number of 32 bits");
        if (DECIMALS.contains(its)) checkDouble(value);
    }

    private static void checkDouble(Object value) {
        BigDecimal number = exact(value);
        double found = number.doubleValue();
        boolean same = Double.isFinite(found)
                && (BigDecimal.valueOf(found).compareTo(number) == 0 || new BigDecimal(found).compareTo(number) == 0);
        if (!same) throw unfit(number + " has more digits than a floating-point number of 64 bits");
    }

    private void checkFraction(int nanos, Object value) {
        int unit = 1;
        for (int i = size; i < NANO_DIGITS; i++) unit *= 10;
        if (nanos % unit != 0)
            throw unfit(value + " has more digits than the column, which keeps " + size + " after the second");
    }

    private static UnfitException unfit(String sentence) {
        return new UnfitException(sentence + "; penstock.coercion=java lets the database change it");
    }

    private static Timestamp moment(Object value, String its) {
        return switch (its) {
            case "MICROS" -> Shape.moment((String) value, 1_000_000);
            case "NANOS" -> Shape.moment((String) value, 1_000_000_000);
            default -> new Timestamp((Long) value);
        };
    }

    /** Null for infinity and NaN. */
    static BigDecimal exact(Object value) {
        if (value instanceof Float found) return Float.isFinite(found) ? new BigDecimal(found.toString()) : null;
        if (value instanceof Double found) return Double.isFinite(found) ? BigDecimal.valueOf(found) : null;
        return value instanceof String text ? new BigDecimal(text) : BigDecimal.valueOf(((Number) value).longValue());
    }
}
