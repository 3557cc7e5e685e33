package penstock.jdbc;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/** Makes this package's objects for Python, which reaches classes of a jar that was added later by objects only. */
public final class Entry {
    public Connections connections(String url, String driver, Map<String, String> properties, int attempts, long backoff) {
        return new Connections(url, driver, properties, attempts, backoff);
    }

    public Database database(Connections connections) throws SQLException {
        return new Database(connections);
    }

    public Shape shape(String sql, List<String> kinds, List<Integer> fields, String zone, String dateZone) {
        return new Shape(sql, kinds, fields, zone, dateZone);
    }

    public Ledger ledger(String select, String update, String insert, String sink, String epoch, long batch) {
        return new Ledger(select, update, insert, sink, epoch, batch);
    }

    public PartitionWriter writer(
            Connections connections,
            List<Shape> shapes,
            int batchSize,
            Ledger ledger,
            String refusedStates,
            List<Integer> refusedCodes,
            List<String> known,
            boolean whole) {
        return new PartitionWriter(
                connections, shapes, batchSize, ledger, refusedStates, refusedCodes, known, whole);
    }
}
