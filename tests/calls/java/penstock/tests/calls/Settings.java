package penstock.tests.calls;

import org.apache.kafka.common.config.ConfigDef;

final class Settings {
    static final ConfigDef OF_CONNECTORS = new ConfigDef()
        .define("probe.log", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The file of calls.")
        .define("topic", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "The topic of a source.");
    static final ConfigDef OF_OTHERS = new ConfigDef()
        .define("probe.log", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The file of calls.");

    private Settings() {
    }
}
