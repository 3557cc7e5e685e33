package penstock.jdbc;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientException;
import java.util.List;
import java.util.regex.Pattern;

/** Errors of drivers as errors of the JDK, which every process of Spark can read: the classes of a driver are only where
    its jar is. They keep the class in the message, and the message, SQLSTATE, vendor code, frames and causes. */
final class Plain {
    private static final String MARK = "[penstock] ";
    private static final int DEPTH = 10;

    private Plain() {}

    /** The same error in classes of the JDK. Called in executors, with what the driver or this package raised. */
    static SQLException of(Throwable error) {
        return error instanceof SQLException found ? of(found) : like(new SQLException(text(error)), error, DEPTH);
    }

    private static SQLException of(SQLException error) {
        SQLException found = telling(error);
        String text = text(found), state = found.getSQLState();
        int code = found.getErrorCode();
        SQLException made =
                found instanceof SQLTransientException ? new SQLTransientException(text, state, code)
                        : found instanceof SQLRecoverableException ? new SQLRecoverableException(text, state, code)
                                : new SQLException(text, state, code);
        return like(made, found, DEPTH);
    }

    private static <T extends Throwable> T like(T made, Throwable error, int depth) {
        made.setStackTrace(error.getStackTrace());
        if (error.getCause() != null && depth > 0) {
            Throwable cause = error.getCause();
            made.initCause(like(new RuntimeException(text(cause)), cause, depth - 1));
        }
        return made;
    }

    private static String text(Throwable error) {
        String message = error.getMessage();
        return message != null && message.startsWith(MARK) ? message : MARK + error;
    }

    /** The error of a batch that tells why: the batch's own only repeats the statement. */
    static SQLException telling(SQLException error) {
        SQLException last = error;
        while (last instanceof BatchUpdateException) {
            SQLException next = last.getNextException();
            if (next == null && last.getCause() instanceof SQLException cause) next = cause;
            if (next == null) break;
            last = next;
        }
        return last;
    }

    /** What Python asks of an error that Spark or py4j hands it: class, message, SQLSTATE, vendor code, whether its
        class says that it passes, and the trace; empty if neither a database nor its driver has raised it. */
    static List<String> facts(Throwable error) {
        Throwable at = error;
        for (int i = 0; at != null && i < 2 * DEPTH; i++, at = at.getCause())
            if (at instanceof SQLException || (at.getMessage() != null && at.getMessage().startsWith(MARK))) break;
        if (at == null) return List.of();
        SQLException found = at instanceof SQLException given ? of(given) : of(at);
        String text = found.getMessage().substring(MARK.length());
        int end = text.indexOf(": ");
        String name = end < 0 ? text : text.substring(0, end), message = end < 0 ? "" : text.substring(end + 2);
        boolean passing = found instanceof SQLTransientException || found instanceof SQLRecoverableException;
        String state = found.getSQLState() == null ? "" : found.getSQLState();
        String code = Integer.toString(found.getErrorCode());
        return List.of(name, message, state, code, passing ? "passing" : "", trace(found));
    }

    private static String trace(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text, true));
        return text.toString().replaceAll("(?m)(^|Caused by: )java\\.[\\w.]+: " + Pattern.quote(MARK), "$1");
    }
}
