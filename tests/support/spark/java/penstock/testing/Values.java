package penstock.testing;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import net.razorvine.pickle.Pickler;
import net.razorvine.pickle.Unpickler;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Many values between Python and Java in one call: py4j takes several calls for each. */
public final class Values {
    /** {@code pickled}: a list of tuples, each a row. Tuples in them are rows with columns of these classes, as
        Python has one type for all numbers. */
    public List<Row> rows(byte[] pickled, List<String> classes) throws Exception {
        List<Row> rows = new ArrayList<>();
        for (Object each : (List<?>) new Unpickler().loads(pickled)) {
            Object[] values = (Object[]) each;
            for (int i = 0; i < values.length; i++)
                if (values[i] instanceof Object[] inner) values[i] = row(inner, classes);
            rows.add(RowFactory.create(values));
        }
        return rows;
    }

    /** The pickled list of the only column. */
    public byte[] values(Iterator<Row> rows) throws Exception {
        List<Object> values = new ArrayList<>();
        while (rows.hasNext()) {
            Object value = rows.next().get(0);
            values.add(value instanceof Seq<?> items ? new ArrayList<>(CollectionConverters.asJava(items)) : value);
        }
        return new Pickler(false).dumps(values);
    }

    private static Row row(Object[] values, List<String> classes) {
        for (int i = 0; i < values.length && i < classes.size(); i++) values[i] = cast(classes.get(i), values[i]);
        return RowFactory.create(values);
    }

    private static Object cast(String type, Object value) {
        if (value instanceof List<?> items) {
            List<Object> made = new ArrayList<>();
            for (Object item : items) made.add(cast(type, item));
            return CollectionConverters.asScala(made);
        }
        if (!(value instanceof Number number)) return value;
        return switch (type) {
            case "INT8" -> number.byteValue();
            case "INT16" -> number.shortValue();
            case "INT64" -> number.longValue();
            case "FLOAT32" -> number.floatValue();
            default -> value;
        };
    }
}
