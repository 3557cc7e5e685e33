package penstock.host.plugins;

import java.sql.Driver;
import java.util.Collections;
import java.util.Iterator;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Registers the JDBC drivers of a plugin's location, where Java Connect does so when it scans all of them. */
public final class JdbcDrivers {
    private static final Logger log = LoggerFactory.getLogger(JdbcDrivers.class);
    private static final Set<ClassLoader> LOADED = Collections.newSetFromMap(new WeakHashMap<>());

    private JdbcDrivers() {}

    /** Make one of each driver that the location names, at the first call: its class registers itself. */
    public static void register(ClassLoader loader) {
        synchronized (LOADED) {
            if (!(loader instanceof PluginClassLoader) || !LOADED.add(loader)) {
                return;
            }
            try {
                Iterator<Driver> drivers = ServiceLoader.load(Driver.class, loader).iterator();
                while (drivers.hasNext()) {
                    log.debug("Registered java.sql.Driver: {} to java.sql.DriverManager", drivers.next());
                }
            } catch (Throwable e) {
                log.debug("Ignoring java.sql.Driver classes listed in resources but not present in class loader's classpath: ", e);
            }
        }
    }
}
