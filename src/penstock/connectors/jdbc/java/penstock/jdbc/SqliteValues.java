package penstock.jdbc;

import java.math.BigDecimal;
import java.math.MathContext;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Checks that a value of SQLite, which may be of any type in any column, is read as what it is. */
final class SqliteValues {
    /** Doubles have all whole numbers up to this one. */
    private static final double WHOLE = 9_007_199_254_740_992.0;

    /** SQLite's own texts of floating-point numbers have so many digits. */
    private static final MathContext SHOWN = new MathContext(15);

    private SqliteValues() {}

    /** Raises SQLException if the value would become another one. */
    static void check(ResultSet rows, int i, Reading reading) throws SQLException {
        Object value = rows.getObject(i);
        if (value == null) return;
        boolean fits = switch (reading) {
            case BOOLEAN -> whole(value, 0, 1);
            case INT8 -> whole(value, Byte.MIN_VALUE, Byte.MAX_VALUE);
            case INT16 -> whole(value, Short.MIN_VALUE, Short.MAX_VALUE);
            case INT32 -> whole(value, Integer.MIN_VALUE, Integer.MAX_VALUE);
            case INT64 -> whole(value, Long.MIN_VALUE, Long.MAX_VALUE);
            case FLOAT32, FLOAT64 -> value instanceof Double || whole(value, -(1L << 53), 1L << 53);
            case STRING -> !(value instanceof byte[]);
            case BYTES -> !(value instanceof Number);
            default -> !(value instanceof byte[]);
        };
        if (!fits) throw new SQLException(text(value) + " is none");
    }

    /** A number for a column of numbers, which are whole ones of 64 bits there, or floating-point numbers. */
    static BigDecimal fitting(BigDecimal value) {
        BigDecimal shortest = value.stripTrailingZeros();
        boolean whole = shortest.scale() <= 0 && shortest.toBigInteger().bitLength() < Long.SIZE;
        if (!whole && shortest.precision() > 15)
            throw new UnfitException(value.toPlainString()
                    + " has more than the 15 digits that SQLite keeps in such a column: give it the type TEXT");
        return value;
    }

    /** Without the driver's way through a text of 15 digits, unless only those fit the scale: SQLite itself shows
        0.1 + 0.2, which is 0.30000000000000004, as 0.3. */
    static BigDecimal decimal(ResultSet rows, int i, int scale) throws SQLException {
        Object value = rows.getObject(i);
        if (value instanceof Double found) {
            BigDecimal exact = BigDecimal.valueOf(found);
            if (exact.stripTrailingZeros().scale() <= scale) return exact;
            BigDecimal shown = exact.round(SHOWN);
            return shown.stripTrailingZeros().scale() <= scale ? shown : exact;
        }
        if (value instanceof Number found) return BigDecimal.valueOf(found.longValue());
        return value == null ? null : rows.getBigDecimal(i);
    }

    private static boolean whole(Object value, long low, long high) {
        if (value instanceof Double found) {
            double number = found;
            return number == Math.rint(number) && Math.abs(number) <= WHOLE && number >= low && number <= high;
        }
        return value instanceof Number found && found.longValue() >= low && found.longValue() <= high;
    }

    private static String text(Object value) {
        return value instanceof byte[] found ? "a BLOB of " + found.length + " bytes" : "`" + value + "`";
    }
}
