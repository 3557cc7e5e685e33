package penstock.jdbc;

import java.sql.SQLException;

/** A row that was refused, and why: a line of fields between tabs in the report. */
final class Refusal {
    private Refusal() {}

    /** {@code place}: of the record, already as fields. */
    static String line(String place, int shape, Throwable error) {
        Throwable told = error instanceof SQLException found ? Plain.telling(found) : error;
        String state = told instanceof SQLException found && found.getSQLState() != null ? found.getSQLState() : "";
        String column = told instanceof SQLException found ? server(found, "getColumn") : "";
        return "refused\t" + place + "\t" + shape + "\t" + flat(column) + "\t" + state + "\t" + flat(told.toString());
    }

    private static String flat(String text) {
        return text.replaceAll("[\\r\\n\\t]+", " ");
    }

    /** What PostgreSQL's server tells beside the message; empty from any other. The driver's classes are known at run
        time only. */
    static String server(SQLException error, String method) {
        try {
            Object told = error.getClass().getMethod("getServerErrorMessage").invoke(error);
            Object found = told == null ? null : told.getClass().getMethod(method).invoke(told);
            return found == null ? "" : found.toString();
        } catch (ReflectiveOperationException other) {
            return "";
        }
    }
}
