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
    private final Connection connection;

    public Database(Connections connections) throws SQLException {
        connection = connections.open();
        connection.setAutoCommit(true);
    }

    /** The names of the columns of a query's result, each followed by the name of its type. */
    public List<String> columns(String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            ResultSetMetaData found = rows.getMetaData();
            List<String> names = new ArrayList<>();
            for (int i = 1; i <= found.getColumnCount(); i++) {
                names.add(found.getColumnLabel(i));
                names.add(found.getColumnTypeName(i));
            }
            return names;
        }
    }

    public void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** All values of a small result as text, row by row. */
    public List<String> values(String query, List<String> parameters) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            for (int i = 0; i < parameters.size(); i++) statement.setString(i + 1, parameters.get(i));
            try (ResultSet rows = statement.executeQuery()) {
                List<String> values = new ArrayList<>();
                int width = rows.getMetaData().getColumnCount();
                while (rows.next()) for (int i = 1; i <= width; i++) values.add(rows.getString(i));
                return values;
            }
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
