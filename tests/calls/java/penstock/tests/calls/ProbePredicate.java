package penstock.tests.calls;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

import java.util.Map;

/** True for all records. */
public final class ProbePredicate<R extends ConnectRecord<R>> implements Predicate<R> {
    private CallLog calls;

    @Override
    public ConfigDef config() {
        return Settings.OF_OTHERS;
    }

    @Override
    public void configure(Map<String, ?> configs) {
        calls = new CallLog(configs, "predicate", this);
        calls.note("configure", configs.size());
    }

    @Override
    public boolean test(R each) {
        calls.note("test", 1);
        return true;
    }

    @Override
    public void close() {
        if (calls != null) {
            calls.note("close", 0);
        }
    }
}
