package penstock.jdbc;

import java.io.Serializable;
import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientException;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Whether an error of the database passes, or is one of the statement whatever its row, or of the row: by the table of
    penstock/connectors/jdbc/sql_errors.py, whose {@code ErrorTable.verdict} decides the same in Python but for routines. */
public final class Verdicts implements Serializable {
    enum Verdict {TRANSIENT, STATEMENT, ROW}

    private final String transientStates;
    private final TreeSet<Integer> transientCodes;
    private final String transientTexts;
    private final TreeSet<Integer> statementCodes;
    private final String statementTexts;
    private final String rowStates;
    private final TreeSet<Integer> rowCodes;
    /** Whether the classes of exceptions tell that they pass. */
    private final boolean classes;
    /** Routines of PostgreSQL that refuse rows by any SQLSTATE. */
    private final TreeSet<String> rowRoutines;

    public Verdicts(
            String transientStates,
            List<Integer> transientCodes,
            String transientTexts,
            List<Integer> statementCodes,
            String statementTexts,
            String rowStates,
            List<Integer> rowCodes,
            boolean classes,
            List<String> rowRoutines) {
        this.transientStates = transientStates;
        this.transientCodes = new TreeSet<>(transientCodes);
        this.transientTexts = transientTexts;
        this.statementCodes = new TreeSet<>(statementCodes);
        this.statementTexts = statementTexts;
        this.rowStates = rowStates;
        this.rowCodes = new TreeSet<>(rowCodes);
        this.classes = classes;
        this.rowRoutines = new TreeSet<>(rowRoutines);
    }

    Verdict of(SQLException error) {
        SQLException told = Plain.telling(error);
        String state = told.getSQLState() == null ? "" : told.getSQLState();
        String text = String.valueOf(told.getMessage());
        if (transientCodes.contains(told.getErrorCode())) return Verdict.TRANSIENT;
        if (statementCodes.contains(told.getErrorCode())) return Verdict.STATEMENT;
        if (found(transientTexts, text)) return Verdict.TRANSIENT;
        if (found(statementTexts, text)) return Verdict.STATEMENT;
        if (rowCodes.contains(told.getErrorCode())) return Verdict.ROW;
        if (Pattern.matches(transientStates, state)) return Verdict.TRANSIENT;
        boolean passing = told instanceof SQLTransientException || told instanceof SQLRecoverableException;
        if (classes && passing) return Verdict.TRANSIENT;
        if (Pattern.matches(rowStates, state)) return Verdict.ROW;
        return rowRoutines.contains(Refusal.server(told, "getRoutine")) ? Verdict.ROW : Verdict.STATEMENT;
    }

    private static boolean found(String expression, String text) {
        return !expression.isEmpty() && Pattern.compile(expression).matcher(text).find();
    }
}
