package penstock.jdbc;

import java.io.IOException;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;

/** Opens connections, in Spark's driver and in its executors: by the driver's class, not by the DriverManager, which
    sees no class of a jar that was added later. */
public final class Connections implements Serializable {
    private final Reference reference;
    private final String driver;
    private final int attempts;
    private final long backoff;
    private transient volatile List<String> settings;

    Connections(Reference reference, String driver, int attempts, long backoff) {
        this.reference = reference;
        this.driver = driver;
        this.attempts = attempts;
        this.backoff = backoff;
    }

    public Connection open() throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                List<String> found = settings();
                String url = found.get(0);
                Properties given = new Properties();
                for (int i = 1; i < found.size(); i += 2) given.put(found.get(i), found.get(i + 1));
                Connection connection = driver(url).connect(url, given);
                if (connection == null) throw new SQLException("The driver does not take this kind of URL", "08001");
                return connection;
            } catch (SQLException error) {
                if (attempt >= attempts) throw error;
                pause();
            }
        }
    }

    private List<String> settings() throws SQLException {
        try {
            if (settings == null) settings = reference.texts();
            return settings;
        } catch (IOException error) {
            throw new SQLException("The settings of the connection can't be had: " + error, "08001", error);
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

    /** Of that class, or if it is empty or missing any that accepts the URL, such as MySQL's own. */
    private Driver driver(String url) throws SQLException {
        ClassLoader loader = Connections.class.getClassLoader();
        try {
            if (driver.isEmpty()) throw new ClassNotFoundException();
            return (Driver) Class.forName(driver, true, loader).getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException missing) {
            for (Driver each : ServiceLoader.load(Driver.class, loader)) if (each.acceptsURL(url)) return each;
            throw new IllegalStateException("penstock lacks driver " + driver);
        } catch (ReflectiveOperationException error) {
            throw new SQLException("The driver " + driver + " can't be loaded: " + error, "08001", error);
        }
    }
}
