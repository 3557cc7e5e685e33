package penstock.tests.chain;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

import java.util.Map;

/** True for records whose value, as text, contains a text. */
public final class ValueContains<R extends ConnectRecord<R>> implements Predicate<R> {
    private String text = "";

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("text", Type.STRING, Importance.HIGH, "What the value has to contain.");
    }

    @Override
    public void configure(Map<String, ?> configs) {
        text = String.valueOf(configs.get("text"));
    }

    @Override
    public boolean test(R each) {
        return String.valueOf(each.value()).contains(text);
    }

    @Override
    public void close() {
    }
}
