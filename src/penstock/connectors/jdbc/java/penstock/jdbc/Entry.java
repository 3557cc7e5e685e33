package penstock.jdbc;

import java.sql.SQLException;
import java.util.List;

/** Makes this package's objects for Python, which reaches classes of a jar that was added later by objects only. */
public final class Entry {
    /** The safe has the URL, and the properties: name, value, name, value and so on. */
    public Connections connections(
            String host,
            int port,
            String fingerprint,
            String key,
            String driver,
            int attempts,
            long backoff,
            List<String> required,
            List<String> attempted) {
        Reference reference = new Reference(host, port, fingerprint, key);
        return new Connections(reference, driver, attempts, backoff, required, attempted);
    }

    public Database database(Connections connections) throws SQLException {
        return new Database(connections);
    }

    public Catalog catalog(Connections connections, String zone) throws SQLException {
        return new Catalog(connections, zone);
    }

    public PartitionReader reader(
            Connections connections,
            List<String> labels,
            List<String> readings,
            List<Integer> scales,
            List<Integer> columns,
            int number,
            List<Integer> times,
            int fetchSize,
            int isolation,
            String zone) {
        return new PartitionReader(
                connections, labels, readings, scales, columns, number, times, fetchSize, isolation, zone);
    }

    public Shape shape(
            String sql,
            String copy,
            List<String> names,
            List<String> kinds,
            List<Integer> fields,
            List<String> rooms,
            String zone,
            String dateZone) {
        return new Shape(sql, copy, names, kinds, fields, rooms, zone, dateZone);
    }

    public Ledger ledger(
            String select,
            String update,
            String insert,
            String fence,
            String sink,
            String epoch,
            long batch,
            String generation) {
        return new Ledger(select, update, insert, fence, sink, epoch, batch, generation);
    }

    public PartitionWriter writer(
            Connections connections,
            List<Shape> shapes,
            int batchSize,
            Ledger ledger,
            Verdicts verdicts,
            List<String> known,
            boolean whole) {
        return new PartitionWriter(connections, shapes, batchSize, ledger, verdicts, known, whole);
    }

    public Verdicts verdicts(
            String transientStates,
            List<Integer> transientCodes,
            String transientTexts,
            List<Integer> statementCodes,
            String statementTexts,
            String rowStates,
            List<Integer> rowCodes,
            boolean classes,
            List<String> rowRoutines) {
        return new Verdicts(
                transientStates,
                transientCodes,
                transientTexts,
                statementCodes,
                statementTexts,
                rowStates,
                rowCodes,
                classes,
                rowRoutines);
    }

    /** See {@code Plain.facts}. */
    public List<String> facts(Throwable error) {
        return Plain.facts(error);
    }
}
