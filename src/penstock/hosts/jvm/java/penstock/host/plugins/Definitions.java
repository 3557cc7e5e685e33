package penstock.host.plugins;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.rest.errors.BadRequestException;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
import penstock.host.Failures;

/** The settings of a plugin, as JSON: all of a ConfigDef but its code. */
final class Definitions {
    private static final long PATIENCE_S = 30;

    private Definitions() {
    }

    /** Adds "config", an array of definitions, and "groups"; or "config_error", what was thrown instead. */
    static void write(Plugins host, Class<?> plugin, ObjectNode to) {
        FutureTask<ConfigDef> asked = new FutureTask<>(() -> {
            try (LoaderSwap swap = host.withClassLoader(plugin.getClassLoader())) {
                return of(plugin.getDeclaredConstructor().newInstance());
            }
        });
        Thread thread = new Thread(asked, "config of " + plugin.getName());
        thread.setDaemon(true);
        thread.start();
        try {
            ConfigDef defined = asked.get(PATIENCE_S, TimeUnit.SECONDS);
            if (defined != null) {
                write(defined, to);
            }
        } catch (TimeoutException error) {
            fail(to, new ConnectException("config() has not returned for " + PATIENCE_S + " s"));
        } catch (Exception error) {
            fail(to, error.getCause() == null ? error : error.getCause());
        }
    }

    private static void fail(ObjectNode to, Throwable error) {
        to.putPOJO("config_error", Failures.document(error));
    }

    /** The definitions of a plugin of any kind that has some; null if its kind has none. */
    static ConfigDef of(Object plugin) {
        if (plugin instanceof Connector connector) {
            return notNull(connector.config(), plugin);
        } else if (plugin instanceof Converter converter) {
            return notNull(converter.config(), plugin);
        } else if (plugin instanceof HeaderConverter converter) {
            return notNull(converter.config(), plugin);
        } else if (plugin instanceof Transformation<?> transformation) {
            return notNull(transformation.config(), plugin);
        } else if (plugin instanceof Predicate<?> predicate) {
            return notNull(predicate.config(), plugin);
        }
        return null;
    }

    private static ConfigDef notNull(ConfigDef defined, Object plugin) {
        if (defined == null) {
            String problem = plugin.getClass().getName() + ".config() must return a ConfigDef that is not null.";
            boolean inChain = plugin instanceof Transformation || plugin instanceof Predicate;
            throw inChain ? new ConnectException(problem) : new BadRequestException(problem);
        }
        return defined;
    }

    private static void write(ConfigDef defined, ObjectNode to) {
        var keys = to.putArray("config");
        for (ConfigKey key : defined.configKeys().values()) {
            ObjectNode node = keys.addObject().put("name", key.name).put("type", key.type.name());
            node.put("required", !key.hasDefault());
            if (key.hasDefault()) {
                node.put("default", ConfigDef.convertToString(key.defaultValue, key.type));
            }
            node.put("importance", key.importance.name()).put("documentation", key.documentation);
            node.put("group", key.group).put("order", key.orderInGroup).put("width", key.width.name());
            node.put("display", key.displayName).put("internal", key.internalConfig);
            node.put("validator", key.validator == null ? null : String.valueOf(key.validator));
            key.dependents.forEach(node.putArray("dependents")::add);
        }
        defined.groups().forEach(to.putArray("groups")::add);
    }
}
