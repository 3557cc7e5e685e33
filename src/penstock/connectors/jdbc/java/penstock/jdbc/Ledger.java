package penstock.jdbc;

import java.io.Serializable;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** The table that says which batch was written last of each partition of a topic, and up to which offset. A
    transaction that writes rows changes it too, and fails if another one has done so meanwhile, or if a later run of the
    connector has begun: a row without a partition has the generation of the last run. {@code generation}: the name that
    this run has claimed, unlike that of any other run. */
public record Ledger(
        String select,
        String update,
        String insert,
        String fence,
        String sink,
        String epoch,
        long batch,
        String generation)
        implements Serializable {
    static final String CONFLICT = "40001";
    private static final String GENERATION = "generation";
    private static final int NONE = -1;

    /** Called when a run begins to write: no transaction of an earlier one commits from now on. */
    void claim(Session session) throws SQLException {
        boolean exists = false;
        long before = 0;
        try (PreparedStatement statement = session.connection.prepareStatement(select)) {
            place(statement, 1, GENERATION, NONE);
            try (ResultSet rows = session.waiting(() -> session.runs(statement).executeQuery())) {
                exists = rows.next();
                if (exists) before = rows.getLong(3);
            }
        }
        change(session, GENERATION, NONE, new Entry(exists, 0, before, 0), generation, 0, before + 1);
    }

    /** Called just before a commit: nothing between this and the commit waits for a database. */
    void check(Session session) throws SQLException {
        try (PreparedStatement statement = session.connection.prepareStatement(fence)) {
            place(statement, 1, GENERATION, NONE);
            statement.setString(4, generation);
            boolean found;
            if (session.waiting(() -> session.runs(statement).execute())) {
                try (ResultSet rows = statement.getResultSet()) {
                    found = rows.next();
                }
            } else {
                found = statement.getUpdateCount() == 1;
            }
            if (!found) throw new SQLException("A later run of this connector has begun: this one may not write", CONFLICT);
        }
    }

    /** Replaces the offset of a partition that this batch has left there, unless its entry has been changed since. */
    void store(Session session, String topic, int partition, long before, long next) throws SQLException {
        try (PreparedStatement statement = session.connection.prepareStatement(update)) {
            bind(statement, topic, partition, epoch, batch, next);
            statement.setLong(7, batch);
            statement.setLong(8, before);
            session.waiting(() -> session.runs(statement).executeUpdate());
        }
    }

    /** What the table has of one partition; {@code next}: the offset after the last record of this batch in it. */
    record Entry(boolean exists, long batch, long stored, long next) {}

    Entry read(Session session, String topic, int partition) throws SQLException {
        try (PreparedStatement statement = session.connection.prepareStatement(select)) {
            place(statement, 1, topic, partition);
            try (ResultSet rows = session.waiting(() -> session.runs(statement).executeQuery())) {
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
        change(session, topic, partition, before, epoch, batch, next);
    }

    private void change(
            Session session, String topic, int partition, Entry before, String epoch, long batch, long next)
            throws SQLException {
        try (PreparedStatement statement = session.connection.prepareStatement(before.exists ? update : insert)) {
            bind(statement, topic, partition, epoch, batch, next);
            if (before.exists) {
                statement.setLong(7, before.batch);
                statement.setLong(8, before.stored);
            }
            int changed = session.waiting(() -> session.runs(statement).executeUpdate());
            if (changed != 1) throw new SQLException("Another run writes this batch", CONFLICT);
        } catch (SQLException error) {
            if (before.exists) throw error;
            throw new SQLException("Another run may write this batch: " + error.getMessage(), CONFLICT, error);
        }
    }

    private void bind(PreparedStatement statement, String topic, int partition, String epoch, long batch, long next)
            throws SQLException {
        statement.setString(1, epoch);
        statement.setLong(2, batch);
        statement.setLong(3, next);
        place(statement, 4, topic, partition);
    }

    private void place(PreparedStatement statement, int index, String topic, int partition) throws SQLException {
        statement.setString(index, sink);
        statement.setString(index + 1, topic);
        statement.setInt(index + 2, partition);
    }
}
