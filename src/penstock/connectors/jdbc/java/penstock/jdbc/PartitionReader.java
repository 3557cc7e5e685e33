package penstock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/** Reads rows in Spark's executors: the result of one query in each partition. Behind the columns come those that say
    where in the table a row is: the value of the incrementing column, then seconds and nanoseconds of the timestamp. */
public final class PartitionReader implements MapPartitionsFunction<Long, Row> {
    private final Connections connections;
    private final List<Query> queries = new ArrayList<>();
    private final List<String> labels;
    private final Reading[] readings;
    private final int[] scales;
    private final int[] columns;
    private final int number;
    private final int[] times;
    private final int fetchSize;
    private final int isolation;
    private final String zone;

    /** {@code labels}: of all columns. {@code columns}: those that are read, from 1. {@code number}
        and {@code times}: the incrementing column (0: none) and the timestamp columns, of which the first that is not
        null counts. {@code isolation}: of java.sql.Connection; -1: the database's. */
    public PartitionReader(
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
        this.connections = connections;
        this.labels = new ArrayList<>(labels);
        this.readings = readings.stream().map(Reading::valueOf).toArray(Reading[]::new);
        this.scales = ints(scales);
        this.columns = ints(columns);
        this.number = number;
        this.times = ints(times);
        this.fetchSize = fetchSize;
        this.isolation = isolation;
        this.zone = zone;
    }

    public void add(String sql, List<String> parameters) {
        queries.add(new Query(sql, parameters));
    }

    public Dataset<Row> rows(SparkSession session) {
        List<StructField> fields = new ArrayList<>();
        for (int i = 0; i < readings.length; i++) {
            fields.add(DataTypes.createStructField("c" + i, readings[i].type, true));
        }
        if (number > 0) fields.add(DataTypes.createStructField("number", DataTypes.LongType, true));
        if (times.length > 0) {
            fields.add(DataTypes.createStructField("seconds", DataTypes.LongType, true));
            fields.add(DataTypes.createStructField("nanos", DataTypes.IntegerType, true));
        }
        StructType type = DataTypes.createStructType(fields);
        return session.range(0, queries.size(), 1, queries.size()).mapPartitions(this, Encoders.row(type));
    }

    @Override
    public Iterator<Row> call(Iterator<Long> numbers) throws SQLException {
        if (!numbers.hasNext()) return List.<Row>of().iterator();
        try {
            return rows(queries.get(numbers.next().intValue()));
        } catch (SQLException | LinkageError | RuntimeException error) {
            throw Plain.of(error);
        }
    }

    private Iterator<Row> rows(Query query) throws SQLException {
        Session session = connections.open();
        Connection connection = session.connection;
        TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> close(session));
        if (isolation >= 0) connection.setTransactionIsolation(isolation);
        // PostgreSQL's driver fetches part by part in transactions only.
        connection.setAutoCommit(false);
        PreparedStatement statement =
                connection.prepareStatement(query.sql, ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY);
        boolean streams = connection.getMetaData().getDriverName().startsWith("MySQL");
        statement.setFetchSize(streams ? Integer.MIN_VALUE : fetchSize);
        Reading.Zones zones = new Reading.Zones(connection, zone);
        query.bind(statement, zones);
        ResultSet rows = session.waiting(() -> session.runs(statement).executeQuery());
        if (!Query.labels(rows.getMetaData()).equals(labels)) {
            throw new IllegalStateException("penstock: the columns have changed");
        }
        return new Rows(rows, zones);
    }

    private static void close(Session session) {
        try (session) {
            session.connection.rollback();
        } catch (SQLException ignored) {
            // It is lost, and with it its transaction.
        }
    }

    private static IllegalStateException lost(Exception error) {
        return new IllegalStateException("The rows could not be fetched", Plain.of(error));
    }

    private static int[] ints(List<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }

    private final class Rows implements Iterator<Row> {
        private final ResultSet rows;
        private final Reading.Zones zones;
        private final boolean decimal;
        private final int width = readings.length + (number > 0 ? 1 : 0) + (times.length > 0 ? 2 : 0);
        private boolean looked;
        private boolean more;

        Rows(ResultSet rows, Reading.Zones zones) throws SQLException {
            this.rows = rows;
            this.zones = zones;
            decimal = number > 0 && Query.isDecimal(rows.getMetaData(), number);
        }

        @Override
        public boolean hasNext() {
            try {
                if (!looked) {
                    more = rows.next();
                    looked = true;
                }
                return more;
            } catch (SQLException | RuntimeException error) {
                throw lost(error);
            }
        }

        @Override
        public Row next() {
            if (!hasNext()) throw new NoSuchElementException();
            looked = false;
            Object[] values = new Object[width];
            for (int i = 0; i < readings.length; i++) values[i] = value(i);
            try {
                place(values, readings.length);
            } catch (SQLException error) {
                throw lost(error);
            } catch (ArithmeticException error) {
                String column = "penstock: column " + labels.get(number - 1);
                throw new IllegalStateException(column + " can't say where a row is: " + error.getMessage());
            }
            return RowFactory.create(values);
        }

        private Object value(int i) {
            try {
                if (zones.moments.style == Moments.Style.SQLITE) SqliteValues.check(rows, columns[i], readings[i]);
                Object value = readings[i].of(rows, columns[i], zones, scales[i]);
                return value != null && rows.wasNull() ? null : value;
            } catch (SQLException | RuntimeException error) {
                String column = "penstock: column " + labels.get(columns[i] - 1);
                if (readings[i] == Reading.DECIMAL && error instanceof ArithmeticException) {
                    String digits = " has a value of more than " + scales[i] + " digits after the point, which is its ";
                    throw new IllegalStateException(
                            column + digits + "scale: give it a greater one, or cast it in `query`");
                }
                throw new IllegalStateException(
                        column + " can't be read as " + readings[i] + ": " + error.getMessage(), Plain.of(error));
            }
        }

        private void place(Object[] values, int at) throws SQLException {
            if (number > 0) values[at++] = Query.whole(rows, number, decimal);
            for (int column : times) {
                Timestamp value = zones.moments.moment(rows, column);
                if (value == null) continue;
                values[at] = Reading.seconds(value);
                values[at + 1] = value.getNanos();
                return;
            }
        }
    }
}
