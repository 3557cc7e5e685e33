package penstock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** A connection for what is not rows: tables and their columns. Called by Python in Spark's driver. */
public final class Database implements AutoCloseable {
    private final Session session;
    private final Connection connection;

    public Database(Connections connections) throws SQLException {
        session = connections.open();
        connection = session.connection;
        connection.setAutoCommit(true);
    }

    /** The names of the columns of a query's result, each followed by the name of its type, and by its Room as text. */
    public List<String> columns(String query) throws SQLException {
        session.works();
        try (Statement statement = connection.createStatement();
                ResultSet rows = session.runs(statement).executeQuery(query)) {
            ResultSetMetaData found = rows.getMetaData();
            Moments.Style style = Moments.Style.of(connection);
            boolean derby = connection.getMetaData().getDriverName().startsWith("Apache Derby");
            List<String> names = new ArrayList<>();
            for (int i = 1; i <= found.getColumnCount(); i++) {
                names.add(found.getColumnLabel(i));
                names.add(found.getColumnTypeName(i));
                names.add(Room.text(found, i, style, derby));
            }
            return names;
        } finally {
            session.rests();
        }
    }

    public void execute(String sql) throws SQLException {
        session.works();
        try (Statement statement = connection.createStatement()) {
            session.runs(statement).execute(sql);
        } finally {
            session.rests();
        }
    }

    /** See {@code Ledger.claim}. */
    public void claim(Ledger ledger) throws SQLException {
        session.works();
        try {
            ledger.claim(session);
        } finally {
            session.rests();
        }
    }

    /** See {@code Ledger.store}. */
    public void store(Ledger ledger, String topic, int partition, long before, long next) throws SQLException {
        session.works();
        try {
            ledger.store(session, topic, partition, before, next);
        } finally {
            session.rests();
        }
    }

    /** All values of a small result as text, row by row. */
    public List<String> values(String query, List<String> parameters) throws SQLException {
        session.works();
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            for (int i = 0; i < parameters.size(); i++) statement.setString(i + 1, parameters.get(i));
            try (ResultSet rows = session.runs(statement).executeQuery()) {
                List<String> values = new ArrayList<>();
                int width = rows.getMetaData().getColumnCount();
                while (rows.next()) for (int i = 1; i <= width; i++) values.add(rows.getString(i));
                return values;
            }
        } finally {
            session.rests();
        }
    }

    @Override
    public void close() throws SQLException {
        session.close();
    }
}
