package penstock.jdbc;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
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
    final Verdicts verdicts;
    /** Records, as {@code topic TAB partition TAB offset}, that are known to be refused. */
    final TreeSet<String> known;
    /** Whether a transaction is given up when rows are refused: nothing may be written before they are dead letters. */
    final boolean whole;
    /** Whether every transaction is given up: only what is refused counts. */
    boolean trial;
    final CollectionAccumulator<String> report = new CollectionAccumulator<>();

    public PartitionWriter(
            Connections connections,
            List<Shape> shapes,
            int batchSize,
            Ledger ledger,
            Verdicts verdicts,
            List<String> known,
            boolean whole) {
        this.connections = connections;
        this.shapes = new java.util.ArrayList<>(shapes);
        this.batchSize = batchSize;
        this.ledger = ledger;
        this.verdicts = verdicts;
        this.known = new TreeSet<>(known);
        this.whole = whole;
    }

    /** Makes this writer one that writes nothing. */
    public PartitionWriter trial() {
        trial = true;
        return this;
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
        Session session = begun();
        try {
            Transaction transaction = new Transaction(this, session);
            try {
                // What Spark raises for a row that it makes passes as it is.
                while (rows.hasNext()) add(transaction, rows.next());
                finish(transaction);
            } catch (SQLException | RuntimeException error) {
                try {
                    session.connection.rollback();
                } catch (SQLException ignored) {
                    // The connection is lost, and with it the transaction.
                }
                throw error;
            }
        } finally {
            try {
                session.close();
            } catch (SQLException ignored) {
                // The transaction has ended before.
            }
        }
    }

    private Session begun() throws SQLException {
        try {
            Session session = connections.open();
            session.connection.setAutoCommit(false);
            return session;
        } catch (SQLException | RuntimeException | LinkageError error) {
            throw Plain.of(error);
        }
    }

    private static void add(Transaction transaction, Row row) throws SQLException {
        try {
            transaction.add(row);
        } catch (SQLException | RuntimeException | LinkageError error) {
            throw Plain.of(error);
        }
    }

    private static void finish(Transaction transaction) throws SQLException {
        try {
            transaction.finish();
        } catch (SQLException | RuntimeException | LinkageError error) {
            throw Plain.of(error);
        }
    }
}
