package penstock.tests;

import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.provider.ConfigProvider;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** Values that tell how often they were asked for; of a path {@code ttl-MS} they expire after so long. */
public final class ConductProvider implements ConfigProvider {
    private final AtomicInteger asked = new AtomicInteger();
    private String prefix;

    @Override
    public void configure(Map<String, ?> configs) {
        prefix = (String) configs.get("prefix");
    }

    @Override
    public ConfigData get(String path) {
        throw new UnsupportedOperationException("All keys of " + path);
    }

    @Override
    public ConfigData get(String path, Set<String> keys) {
        Conduct.checkLoader(getClass());
        if (path.equals("sealed")) {
            throw new ConfigException("The vault is sealed");
        }
        int call = asked.incrementAndGet();
        Map<String, String> found = new HashMap<>();
        keys.forEach(key -> found.put(key, prefix + "-" + key + "-" + call));
        return path.startsWith("ttl-") ? new ConfigData(found, Long.parseLong(path.substring(4))) : new ConfigData(found);
    }

    @Override
    public void close() {
    }
}
