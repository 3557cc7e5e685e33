package penstock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;

/** The rows of one of Spark's partitions in one transaction. Rows of one shape are sent together, by COPY where there is
    one; a row that the database refuses is found by halving, from a savepoint on, and a single row is always sent by
    its own statement: what that says counts. */
final class Transaction {
    private static final int SHAPE = 0, TOPIC = 1, PARTITION = 2, OFFSET = 3, FIRST = 4;

    private record Place(String topic, int partition) {}

    private final PartitionWriter writer;
    private final Session session;
    private final Connection connection;
    private final Map<Place, Ledger.Entry> entries = new LinkedHashMap<>();
    private final Map<Place, Long> next = new LinkedHashMap<>();
    private final List<Row> rows = new ArrayList<>();
    private final List<String> refused = new ArrayList<>();
    private final Map<Integer, PreparedStatement> statements = new LinkedHashMap<>();
    private final CopyText copyText = new CopyText();
    /** Whether COPY has not been found to be impossible. */
    private boolean copies = true;
    private int shape = -1;
    private long written;

    Transaction(PartitionWriter writer, Session session) {
        this.writer = writer;
        this.session = session;
        connection = session.connection;
    }

    void add(Row row) throws SQLException {
        Place place = new Place(row.getString(TOPIC), row.getInt(PARTITION));
        long offset = row.getLong(OFFSET);
        if (writer.ledger != null) {
            Ledger.Entry entry = entries.get(place);
            if (entry == null) {
                entry = writer.ledger.read(session, place.topic, place.partition);
                entries.put(place, entry);
            }
            if (offset < entry.next()) return;
        }
        next.put(place, offset + 1);
        if (!writer.known.isEmpty() && writer.known.contains(name(row))) return;
        int its = row.getInt(SHAPE);
        if (its != shape || rows.size() >= writer.batchSize) flush();
        shape = its;
        rows.add(row);
    }

    void finish() throws SQLException {
        flush();
        if (writer.trial || (!refused.isEmpty() && writer.whole)) {
            connection.rollback();
            refused.forEach(writer.report::add);
            return;
        }
        if (writer.ledger != null)
            for (Map.Entry<Place, Long> each : next.entrySet())
                writer.ledger.write(
                        session, each.getKey().topic, each.getKey().partition, entries.get(each.getKey()), each.getValue());
        for (PreparedStatement statement : statements.values()) statement.close();
        writer.connections.confirm();
        if (writer.ledger != null && !next.isEmpty()) writer.ledger.check(session);
        connection.commit();
        next.forEach((place, offset) ->
                writer.report.add("done\t" + place.topic + "\t" + place.partition + "\t" + offset));
        writer.report.add("rows\t" + written);
        refused.forEach(writer.report::add);
    }

    private void flush() throws SQLException {
        if (!rows.isEmpty()) send(rows);
        rows.clear();
    }

    private void send(List<Row> part) throws SQLException {
        long begun = System.nanoTime();
        while (!sent(part, begun)) {}
    }

    /** False if it is to be sent again, since it has waited for a row's lock, and may wait longer. */
    private boolean sent(List<Row> part, long begun) throws SQLException {
        boolean copied = copies && part.size() > 1 && writer.shapes.get(shape).copy != null;
        Savepoint before = connection.setSavepoint();
        try {
            if (copied) copy(part);
            else insert(part);
            written += part.size();
            release(before);
            return true;
        } catch (SQLException | RuntimeException error) {
            SQLException told = error instanceof SQLException found ? found : null;
            boolean impossible = copied && told != null && CopyText.isImpossible(told);
            // A driver's runtime exception is one of the values, such as a date that it has no text for.
            boolean refused = told == null || writer.verdicts.of(told) == Verdicts.Verdict.ROW;
            if (!impossible && !refused) {
                if (!session.mayWait(told, before, begun)) throw error;
                return false;
            }
            connection.rollback(before);
            if (impossible) {
                copies = false;
                send(part);
            } else if (part.size() == 1) {
                this.refused.add(Refusal.line(name(part.get(0)), shape, error));
            } else {
                int middle = part.size() / 2;
                send(part.subList(0, middle));
                send(part.subList(middle, part.size()));
            }
            return true;
        }
    }

    private void copy(List<Row> part) throws SQLException {
        Shape its = writer.shapes.get(shape);
        try (CopyText text = copyText) {
            session.runs(null);
            text.begin(connection, its.copy);
            for (Row row : part) {
                its.write(text, row.getStruct(FIRST + shape));
                text.next();
            }
            text.end();
        }
    }

    private void insert(List<Row> part) throws SQLException {
        Shape its = writer.shapes.get(shape);
        PreparedStatement statement = statements.get(shape);
        if (statement == null) {
            statement = connection.prepareStatement(its.sql);
            statements.put(shape, statement);
        }
        try {
            for (Row row : part) {
                its.bind(statement, row.getStruct(FIRST + shape));
                statement.addBatch();
            }
            session.runs(statement).executeBatch();
        } catch (SQLException | RuntimeException error) {
            // No rows wait for the next batch; a lost connection has none either.
            try {
                statement.clearBatch();
            } catch (SQLException ignored) {
                // The first error tells more.
            }
            throw error;
        }
    }

    /** Oracle's and SQL Server's drivers can't: theirs end with the transaction. */
    private void release(Savepoint savepoint) {
        try {
            connection.releaseSavepoint(savepoint);
        } catch (SQLException ignored) {
            // See above.
        }
    }

    private static String name(Row row) {
        return row.getString(TOPIC) + "\t" + row.getInt(PARTITION) + "\t" + row.getLong(OFFSET);
    }
}
