package penstock.jdbc;

import java.io.Serializable;
import java.math.BigDecimal;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;

/** A SELECT with its parameters: {@code N} and a number, or {@code T}, seconds since 1970, a dot and nanoseconds. */
final class Query implements Serializable {
    final String sql;
    private final String[] parameters;

    Query(String sql, List<String> parameters) {
        this.sql = sql;
        this.parameters = parameters.toArray(new String[0]);
    }

    void bind(PreparedStatement statement, Reading.Zones zones) throws SQLException {
        for (int i = 0; i < parameters.length; i++) {
            String text = parameters[i].substring(1);
            if (parameters[i].charAt(0) == 'N') {
                statement.setLong(i + 1, Long.parseLong(text));
            } else {
                int dot = text.indexOf('.');
                Timestamp value = new Timestamp(Math.multiplyExact(Long.parseLong(text.substring(0, dot)), 1000L));
                value.setNanos(Integer.parseInt(text.substring(dot + 1)));
                zones.moments.setTimestamp(statement, i + 1, value);
            }
        }
    }

    /** As a parameter; null if the column is. */
    static String parameter(ResultSet rows, int index, char kind, Reading.Zones zones) throws SQLException {
        if (kind == 'N') {
            if (isDecimal(rows.getMetaData(), index)) { // as SQLite's null is, after which wasNull throws
                BigDecimal value = rows.getBigDecimal(index);
                return value == null ? null : "N" + exact(value);
            }
            long number = rows.getLong(index);
            return rows.wasNull() ? null : "N" + number;
        }
        Timestamp value = zones.moments.moment(rows, index);
        return value == null ? null : "T" + Reading.seconds(value) + "." + value.getNanos();
    }

    /** Whether a column may have numbers that no long has. */
    static boolean isDecimal(ResultSetMetaData found, int index) throws SQLException {
        int type = found.getColumnType(index);
        return type == Types.NUMERIC || type == Types.DECIMAL;
    }

    /** A number that says where a row is: to cut off its digits would read rows twice, or never. */
    static long whole(ResultSet rows, int index, boolean decimal) throws SQLException {
        if (!decimal) return rows.getLong(index);
        BigDecimal value = rows.getBigDecimal(index);
        return value == null ? 0 : exact(value);
    }

    private static long exact(BigDecimal value) {
        try {
            return value.longValueExact();
        } catch (ArithmeticException error) {
            throw new ArithmeticException(value.toPlainString() + " is no whole number of 64 bits");
        }
    }

    static List<String> labels(ResultSetMetaData found) throws SQLException {
        List<String> texts = new ArrayList<>();
        for (int i = 1; i <= found.getColumnCount(); i++) texts.add(found.getColumnLabel(i));
        return texts;
    }

    /** What describes a column: its label, number and name of its type, precision, scale, and three flags. */
    static List<String> columns(ResultSetMetaData found) throws SQLException {
        List<String> texts = new ArrayList<>();
        for (int i = 1; i <= found.getColumnCount(); i++) {
            texts.add(found.getColumnLabel(i));
            texts.add(Integer.toString(found.getColumnType(i)));
            texts.add(found.getColumnTypeName(i));
            texts.add(Integer.toString(found.getPrecision(i)));
            texts.add(Integer.toString(found.getScale(i)));
            texts.add(found.isNullable(i) == ResultSetMetaData.columnNoNulls ? "" : "nullable");
            texts.add(found.isSigned(i) ? "" : "unsigned");
            texts.add(found.isAutoIncrement(i) ? "auto" : "");
        }
        return texts;
    }
}
