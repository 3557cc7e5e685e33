package penstock.tests.calls;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

import java.util.Map;

/** Drops records with the value "filtering". */
public final class ProbeTransform<R extends ConnectRecord<R>> implements Transformation<R> {
    private CallLog calls;

    @Override
    public ConfigDef config() {
        return Settings.OF_OTHERS;
    }

    @Override
    public void configure(Map<String, ?> configs) {
        calls = new CallLog(configs, "transform", this);
        calls.note("configure", configs.size());
    }

    @Override
    public R apply(R each) {
        calls.note("apply", 1);
        return "filtering".equals(each.value()) ? null : each;
    }

    @Override
    public void close() {
        if (calls != null) {
            calls.note("close", 0);
        }
    }
}
