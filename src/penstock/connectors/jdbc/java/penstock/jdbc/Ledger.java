package penstock.jdbc;

import java.io.Serializable;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** The table that says which batch was written last of each partition of a topic, and up to which offset. A
    transaction that writes rows changes it too, and fails if another one has done so meanwhile. */
public final class Ledger implements Serializable {
    static final String CONFLICT = "40001";

    private final String select;
    private final String update;
    private final String insert;
    private final String sink;
    private final String epoch;
    private final long batch;

    public Ledger(String select, String update, String insert, String sink, String epoch, long batch) {
        this.select = select;
        this.update = update;
        this.insert = insert;
        this.sink = sink;
        this.epoch = epoch;
        this.batch = batch;
    }

    /** What the table has of one partition; {@code next}: the offset after the last record of this batch in it. */
    record Entry(boolean exists, long batch, long stored, long next) {}

    Entry read(Session session, String topic, int partition) throws SQLException {
        try (PreparedStatement statement = session.connection.prepareStatement(select)) {
            place(statement, 1, topic, partition);
            try (ResultSet rows = session.runs(statement).executeQuery()) {
                if (!rows.next()) return new Entry(false, 0, 0, 0);
                String known = rows.getString(1);
                long number = rows.getLong(2);
                long next = rows.getLong(3);
                if (number > batch || (number == batch && !epoch.equals(known)))
                    throw new SQLException(
                            "Another run of this connector has written batch " + number + ", this one is at " + batch,
                            CONFLICT);
                return new Entry(true, number, next, number == batch ? next : 0);
            }
        }
    }

    void write(Session session, String topic, int partition, Entry before, long next) throws SQLException {
        try (PreparedStatement statement = session.connection.prepareStatement(before.exists ? update : insert)) {
            statement.setString(1, epoch);
            statement.setLong(2, batch);
            statement.setLong(3, next);
            place(statement, 4, topic, partition);
            if (before.exists) {
                statement.setLong(7, before.batch);
                statement.setLong(8, before.stored);
            }
            if (session.runs(statement).executeUpdate() != 1) throw new SQLException("Another run writes this batch", CONFLICT);
        } catch (SQLException error) {
            if (before.exists) throw error;
            throw new SQLException("Another run may write this batch: " + error.getMessage(), CONFLICT, error);
        }
    }

    private void place(PreparedStatement statement, int index, String topic, int partition) throws SQLException {
        statement.setString(index, sink);
        statement.setString(index + 1, topic);
        statement.setInt(index + 2, partition);
    }
}
