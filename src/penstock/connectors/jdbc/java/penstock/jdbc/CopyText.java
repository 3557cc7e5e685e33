package penstock.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Calendar;
import java.util.GregorianCalendar;

/** Rows as PostgreSQL's COPY reads them: text with tabs between columns, sent in parts. For one thread. */
final class CopyText implements AutoCloseable {
    private static final String DIGITS = "0123456789abcdef";
    private static final Class<?>[] NONE = {};
    /** The bytes after which a part ends. */
    private static final int PART = 1 << 18;

    private byte[] bytes = new byte[PART];
    private int size;
    private Object copy;

    /** What needs no escape. */
    void plain(String text) {
        int length = text.length();
        reserve(length);
        for (int i = 0; i < length; i++) bytes[size++] = (byte) text.charAt(i);
    }

    void string(String text) {
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        reserve(2 * encoded.length);
        for (byte each : encoded) {
            byte letter = switch (each) {
                case '\\' -> '\\';
                case '\t' -> 't';
                case '\n' -> 'n';
                case '\r' -> 'r';
                default -> 0;
            };
            if (letter != 0) bytes[size++] = '\\';
            bytes[size++] = letter != 0 ? letter : each;
        }
    }

    void binary(byte[] value) {
        plain("\\\\x");
        reserve(2 * value.length);
        for (byte each : value) {
            bytes[size++] = (byte) DIGITS.charAt(each >> 4 & 15);
            bytes[size++] = (byte) DIGITS.charAt(each & 15);
        }
    }

    void date(Calendar at) {
        number(at.get(Calendar.YEAR), 4);
        plain("-");
        number(at.get(Calendar.MONTH) + 1, 2);
        plain("-");
        number(at.get(Calendar.DAY_OF_MONTH), 2);
    }

    void time(Calendar at) {
        number(at.get(Calendar.HOUR_OF_DAY), 2);
        plain(":");
        number(at.get(Calendar.MINUTE), 2);
        plain(":");
        number(at.get(Calendar.SECOND), 2);
        plain(".");
        number(at.get(Calendar.MILLISECOND), 3);
    }

    /** Follows a date, or its time. */
    void era(Calendar at) {
        if (at.get(Calendar.ERA) == GregorianCalendar.BC) plain(" BC");
    }

    private void number(int value, int width) {
        if (value >= 10 || width > 1) number(value / 10, width - 1);
        reserve(1);
        bytes[size++] = (byte) ('0' + value % 10);
    }

    private void reserve(int more) {
        if (bytes.length - size < more) bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
    }

    /** Begins {@code sql}, a COPY ... FROM STDIN. {@code close} it in any case. */
    void begin(Connection connection, String sql) throws SQLException {
        size = 0;
        copy = call(call(connection, "getCopyAPI", NONE), "copyIn", new Class<?>[] {String.class}, sql);
    }

    /** Called after each row. */
    void next() throws SQLException {
        plain("\n");
        if (size >= PART) send();
    }

    void end() throws SQLException {
        send();
        call(copy, "endCopy", NONE);
    }

    private void send() throws SQLException {
        call(copy, "writeToCopy", new Class<?>[] {byte[].class, int.class, int.class}, bytes, 0, size);
        size = 0;
    }

    /** Cancels a COPY that has not come to its end; why it has not, tells more than what that may raise. */
    @Override
    public void close() {
        try {
            if (copy != null && (Boolean) call(copy, "isActive", NONE)) call(copy, "cancelCopy", NONE);
        } catch (SQLException ignored) {
            // See above.
        }
        copy = null;
    }

    /** The driver's classes are known at run time only. */
    private static Object call(Object object, String method, Class<?>[] types, Object... values) throws SQLException {
        try {
            return object.getClass().getMethod(method, types).invoke(object, values);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof SQLException found) throw found;
            throw new SQLException("COPY has failed: " + error.getCause(), "XX000", error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new SQLException("The driver has no COPY: " + error, "0A000", error);
        }
    }

    /** Whether there is no COPY into this table, by this user or this driver, or one that takes longer than a statement
        may, where there may be INSERTs. */
    static boolean isImpossible(SQLException error) {
        String state = error.getSQLState();
        return state != null && (state.startsWith("0A") || state.startsWith("42") || state.equals("57014"));
    }
}
