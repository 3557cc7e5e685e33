package penstock.jdbc;

import java.io.Serializable;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.ServiceLoader;

/** Opens connections, in Spark's driver and in its executors: by the driver's class, not by the DriverManager, which
    sees no class of a jar that was added later. */
public final class Connections implements Serializable {
    private final String url;
    private final String driver;
    private final HashMap<String, String> properties;
    private final int attempts;
    private final long backoff;

    public Connections(String url, String driver, Map<String, String> properties, int attempts, long backoff) {
        this.url = url;
        this.driver = driver;
        this.properties = new HashMap<>(properties);
        this.attempts = attempts;
        this.backoff = backoff;
    }

    public Connection open() throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                Properties given = new Properties();
                given.putAll(properties);
                Connection connection = driver().connect(url, given);
                if (connection == null) throw new SQLException("The driver does not take this kind of URL", "08001");
                return connection;
            } catch (SQLException error) {
                if (attempt >= attempts) throw error;
                pause();
            }
        }
    }

    private void pause() throws SQLException {
        try {
            Thread.sleep(backoff);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("Interrupted while waiting for the next attempt to connect", "08001", interrupted);
        }
    }

    private Driver driver() throws SQLException {
        ClassLoader loader = Connections.class.getClassLoader();
        try {
            return (Driver) Class.forName(driver, true, loader).getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException missing) {
            // Another driver for the same kind of URL, such as MySQL's own.
            for (Driver each : ServiceLoader.load(Driver.class, loader)) if (each.acceptsURL(url)) return each;
            throw new IllegalStateException("penstock lacks driver " + driver);
        } catch (ReflectiveOperationException error) {
            throw new SQLException("The driver " + driver + " can't be loaded: " + error, "08001", error);
        }
    }
}
