package penstock.tests.chain;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

import java.util.Map;

/** True for every second record that it is asked about. */
public final class EverySecond<R extends ConnectRecord<R>> implements Predicate<R> {
    private int asked;

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public boolean test(R each) {
        asked++;
        return asked % 2 == 0;
    }

    @Override
    public void close() {
    }
}
