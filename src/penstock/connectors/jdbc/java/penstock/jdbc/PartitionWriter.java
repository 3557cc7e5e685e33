package penstock.jdbc;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.sql.Connection;
import java.sql.SQLException;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.CollectionAccumulator;

/** Writes rows in Spark's executors: each partition in one transaction. What it has done and what the database
    refuses is in {@code report}, as lines of fields between tabs. */
public final class PartitionWriter implements ForeachPartitionFunction<Row> {
    final Connections connections;
    final List<Shape> shapes;
    final int batchSize;
    final Ledger ledger;
    private final String refusedStates;
    private final TreeSet<Integer> refusedCodes;
    /** Records, as {@code topic TAB partition TAB offset}, that are known to be refused. */
    final TreeSet<String> known;
    /** Whether a transaction is given up when rows are refused: nothing may be written before they are dead letters. */
    final boolean whole;
    final CollectionAccumulator<String> report = new CollectionAccumulator<>();

    public PartitionWriter(
            Connections connections,
            List<Shape> shapes,
            int batchSize,
            Ledger ledger,
            String refusedStates,
            List<Integer> refusedCodes,
            List<String> known,
            boolean whole) {
        this.connections = connections;
        this.shapes = new java.util.ArrayList<>(shapes);
        this.batchSize = batchSize;
        this.ledger = ledger;
        this.refusedStates = refusedStates;
        this.refusedCodes = new TreeSet<>(refusedCodes);
        this.known = new TreeSet<>(known);
        this.whole = whole;
    }

    /** Called in Spark's driver. */
    public void run(SparkSession session, Dataset<Row> rows) {
        session.sparkContext().register(report, "penstock.jdbc");
        rows.foreachPartition(this);
    }

    public List<String> report() {
        return report.value();
    }

    @Override
    public void call(Iterator<Row> rows) throws SQLException {
        if (!rows.hasNext()) return;
        try (Connection connection = connections.open()) {
            connection.setAutoCommit(false);
            Transaction transaction = new Transaction(this, connection);
            try {
                while (rows.hasNext()) transaction.add(rows.next());
                transaction.finish();
            } catch (SQLException | RuntimeException error) {
                try {
                    connection.rollback();
                } catch (SQLException ignored) {
                    // The connection is lost, and with it the transaction.
                }
                throw error;
            }
        }
    }

    /** Whether the database refuses the row, rather than being out of order. */
    boolean refuses(SQLException error) {
        for (SQLException each = error; each != null; each = each.getNextException()) {
            if (each.getSQLState() != null && Pattern.matches(refusedStates, each.getSQLState())) return true;
            if (refusedCodes.contains(each.getErrorCode())) return true;
        }
        return false;
    }
}
