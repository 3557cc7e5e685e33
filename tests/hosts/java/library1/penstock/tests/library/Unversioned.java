package penstock.tests.library;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

import java.util.Map;

/** Appends the version of the library that it sees to values that are strings; it says no version of its own. */
public class Unversioned<R extends ConnectRecord<R>> implements Transformation<R> {
    @Override
    public R apply(R each) {
        String value = each.value() + " " + Library.version() + sees("org.apache.spark.SparkContext");
        return each.newRecord(each.topic(), each.kafkaPartition(), each.keySchema(), each.key(), each.valueSchema(), value,
            each.timestamp(), each.headers());
    }

    private static String sees(String name) {
        try {
            Class.forName(name);
            return " and " + name;
        } catch (ClassNotFoundException e) {
            return "";
        }
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public void close() {
    }
}
