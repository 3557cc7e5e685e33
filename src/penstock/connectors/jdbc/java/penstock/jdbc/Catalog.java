package penstock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A connection for what a source asks beside rows: which tables there are, their columns, how far they go. Called by
    Python in Spark's driver. */
public final class Catalog implements AutoCloseable {
    private final Session session;
    private final Connection connection;
    private final Reading.Zones zones;

    Catalog(Connections connections, String zone) throws SQLException {
        session = connections.open();
        connection = session.connection;
        connection.setAutoCommit(true);
        zones = new Reading.Zones(connection, zone);
    }

    /** Catalog, schema and name of each table; empty where there is none. */
    public List<String> tables(String catalog, String schema, List<String> types) throws SQLException {
        List<String> found = new ArrayList<>();
        session.works();
        try (ResultSet rows =
                connection.getMetaData().getTables(catalog, schema, "%", types.toArray(new String[0]))) {
            while (rows.next()) {
                for (int i = 1; i <= 3; i++) {
                    String text = rows.getString(i);
                    found.add(text == null ? "" : text);
                }
            }
        } finally {
            session.rests();
        }
        return found;
    }

    /** The columns of a query's result, see Query.columns. */
    public List<String> columns(String sql) throws SQLException {
        session.works();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            ResultSetMetaData known = statement.getMetaData();
            if (known != null && known.getColumnCount() > 0) return Query.columns(known);
            statement.setMaxRows(1);
            try (ResultSet rows = session.runs(statement).executeQuery()) {
                return Query.columns(rows.getMetaData());
            }
        } finally {
            session.rests();
        }
    }

    /** The columns of the primary key, in no order. */
    public List<String> key(String catalog, String schema, String table) throws SQLException {
        List<String> found = new ArrayList<>();
        session.works();
        try (ResultSet rows = connection.getMetaData().getPrimaryKeys(nulled(catalog), nulled(schema), table)) {
            while (rows.next()) found.add(rows.getString("COLUMN_NAME"));
        } finally {
            session.rests();
        }
        return found;
    }

    /** The only row of a result; {@code kinds} has a letter for each column, N or T, as in Query. */
    public List<String> row(String sql, List<String> parameters, String kinds) throws SQLException {
        session.works();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new Query(sql, parameters).bind(statement, zones);
            try (ResultSet rows = session.runs(statement).executeQuery()) {
                List<String> found = new ArrayList<>();
                if (!rows.next()) return found;
                for (int i = 0; i < kinds.length(); i++) {
                    found.add(Query.parameter(rows, i + 1, kinds.charAt(i), zones));
                }
                return found;
            }
        } finally {
            session.rests();
        }
    }

    /** The first column of a result; {@code kind}: N or T, as in Query. */
    public List<String> parameters(String sql, String kind) throws SQLException {
        session.works();
        try (PreparedStatement statement = connection.prepareStatement(sql);
                ResultSet rows = session.runs(statement).executeQuery()) {
            List<String> found = new ArrayList<>();
            while (rows.next()) found.add(Query.parameter(rows, 1, kind.charAt(0), zones));
            return found;
        } finally {
            session.rests();
        }
    }

    /** The first column of a result. */
    public List<String> texts(String sql) throws SQLException {
        session.works();
        try (PreparedStatement statement = connection.prepareStatement(sql);
                ResultSet rows = session.runs(statement).executeQuery()) {
            List<String> found = new ArrayList<>();
            while (rows.next()) found.add(rows.getString(1));
            return found;
        } finally {
            session.rests();
        }
    }

    @Override
    public void close() throws SQLException {
        session.close();
    }

    private static String nulled(String text) {
        return text.isEmpty() ? null : text;
    }
}
