package penstock.host;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An exception as it crosses: its class with the classes above it, its message, its trace, and its causes. */
public final class Failures {
    private static final int MAX_CAUSES = 20;

    private Failures() {}

    public static Map<String, Object> document(Throwable error) {
        Map<String, Object> document = described(error);
        List<Object> causes = new ArrayList<>();
        Throwable cause = causeOf(error);
        while (cause != null && causes.size() < MAX_CAUSES) {
            causes.add(described(cause));
            cause = causeOf(cause);
        }
        document.put("causes", causes);
        StringWriter trace = new StringWriter();
        try {
            error.printStackTrace(new PrintWriter(trace, true));
        } catch (Throwable broken) {
            trace.append(error.getClass().getName());
        }
        appendSqlErrors(error, trace);
        document.put("trace", trace.toString());
        return document;
    }

    /** Appends what Java does not print of a database's errors: SQLSTATE, vendor code, and the errors of a batch. */
    private static void appendSqlErrors(Throwable error, StringWriter trace) {
        PrintWriter lines = new PrintWriter(trace, true);
        Throwable at = error;
        for (int i = 0; at != null && i < MAX_CAUSES; i++, at = causeOf(at)) {
            if (!(at instanceof SQLException found)) continue;
            try {
                appendState(found, lines);
                SQLException next = found.getNextException();
                for (int k = 0; next != null && k < MAX_CAUSES; k++, next = next.getNextException()) {
                    if (next == found.getCause()) continue;
                    lines.print("Next exception: ");
                    next.printStackTrace(lines);
                    appendState(next, lines);
                }
            } catch (Throwable broken) {
                // An exception of a plugin may raise others.
            }
        }
    }

    private static void appendState(SQLException error, PrintWriter lines) {
        if (error.getSQLState() == null && error.getErrorCode() == 0) return;
        lines.println("\tSQLSTATE " + error.getSQLState() + ", error code " + error.getErrorCode() + " of " + error.getClass().getName());
    }

    private static Throwable causeOf(Throwable error) {
        try {
            return error.getCause();
        } catch (Throwable broken) {
            return null;
        }
    }

    private static Map<String, Object> described(Throwable error) {
        Map<String, Object> document = new LinkedHashMap<>();
        List<String> classes = new ArrayList<>();
        for (Class<?> each = error.getClass(); each != Object.class; each = each.getSuperclass()) {
            classes.add(each.getName());
        }
        document.put("classes", classes);
        String message;
        try {
            message = error.getLocalizedMessage();
        } catch (Throwable broken) {
            message = null;
        }
        document.put("message", message);
        return document;
    }
}
