package penstock.host.plugins;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigValue;

/** The outcome of a validation, with values as the text that Java Connect's REST interface shows. */
final class ValidatedValues {
    private ValidatedValues() {}

    /** In their order; {@code defined} has the types by which values become texts. */
    static List<Object> document(Config validated, ConfigDef defined) {
        return document(validated.configValues(), defined);
    }

    static List<Object> document(List<ConfigValue> values, ConfigDef defined) {
        return document(values, defined == null ? Map.of() : defined.configKeys());
    }

    static List<Object> document(List<ConfigValue> values, Map<String, ConfigKey> keys) {
        List<Object> documents = new ArrayList<>();
        for (ConfigValue value : values) {
            ConfigKey key = keys.get(value.name());
            Type type = key == null ? null : key.type;
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("name", value.name());
            document.put("value", text(value.value(), type));
            document.put("recommended", recommended(value.recommendedValues(), type));
            document.put("errors", value.errorMessages());
            document.put("visible", value.visible());
            documents.add(document);
        }
        return documents;
    }

    static List<String> recommended(List<Object> values, Type type) {
        List<String> texts = new ArrayList<>();
        for (Object each : values) {
            texts.add(text(each, type == Type.LIST ? Type.STRING : type));
        }
        return texts;
    }

    private static String text(Object value, Type type) {
        return ConfigDef.convertToString(value, type);
    }
}
