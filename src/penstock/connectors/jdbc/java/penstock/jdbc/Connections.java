package penstock.jdbc;

import java.io.IOException;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;

/** Opens connections, in Spark's driver and in its executors: by the driver's class, not by the DriverManager, which
    sees no class of a jar that was added later. */
public final class Connections implements Serializable {
    /** MariaDB's driver takes URLs of MySQL that have this; MySQL's own takes them before. */
    private static final String MYSQL = "permitMysqlScheme";

    private final Reference reference;
    private final String driver;
    private final int attempts;
    private final long backoff;
    private final List<String> required;
    private final List<String> attempted;
    private transient volatile List<String> settings;

    /** {@code required}: statements that each new session needs, each followed by a query that returns 1 if the session
        does not need it, and by a sentence for a server that refuses it. {@code attempted}: statements for each new session
        of which one that fails is left out. */
    Connections(
            Reference reference,
            String driver,
            int attempts,
            long backoff,
            List<String> required,
            List<String> attempted) {
        this.reference = reference;
        this.driver = driver;
        this.attempts = attempts;
        this.backoff = backoff;
        this.required = new ArrayList<>(required);
        this.attempted = new ArrayList<>(attempted);
    }

    /** Opens a session, which ends with the task that calls this. */
    Session open() throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                List<String> found = settings();
                String url = found.get(0);
                Properties given = new Properties();
                for (int i = 1; i < found.size(); i += 2) given.put(found.get(i), found.get(i + 1));
                Chosen chosen = driver(url);
                Connection connection = chosen.driver.connect(chosen.url, given);
                if (connection == null) throw new SQLException("The driver does not take this kind of URL", "08001");
                Session session = Session.of(connection, reference);
                try {
                    begin(session);
                    return session;
                } catch (SQLException | RuntimeException error) {
                    session.close();
                    throw error;
                }
            } catch (SQLException error) {
                if (attempt >= attempts || error instanceof SessionRefusedException) throw error;
                pause();
            }
        }
    }

    private void begin(Session session) throws SQLException {
        for (String sql : attempted) {
            try {
                execute(session, sql);
            } catch (SQLException other) {
                // A server that does not have it; one that has, may want to forget the failure.
                if (!session.connection.getAutoCommit()) session.connection.rollback();
            }
        }
        for (int i = 0; i < required.size(); i += 3) {
            try {
                execute(session, required.get(i));
            } catch (SQLException error) {
                if (isLost(error)) throw error;
                if (!session.connection.getAutoCommit()) session.connection.rollback();
                if (!isFulfilled(session, required.get(i + 1))) throw new SessionRefusedException(required.get(i + 2), error);
            }
        }
    }

    private static boolean isLost(SQLException error) {
        return error.getSQLState() != null && error.getSQLState().startsWith("08");
    }

    private static boolean isFulfilled(Session session, String query) throws SQLException {
        try (Statement statement = session.connection.createStatement();
                ResultSet rows = session.runs(statement).executeQuery(query)) {
            return rows.next() && rows.getInt(1) == 1;
        } catch (SQLException error) {
            if (isLost(error)) throw error;
            return false;
        }
    }

    /** A server that refuses what each session needs: another attempt would be refused, too. */
    private static final class SessionRefusedException extends SQLException {
        private static final long serialVersionUID = 1;

        SessionRefusedException(String sentence, SQLException error) {
            super(sentence + " (" + error.getMessage() + ")", error.getSQLState(), error.getErrorCode(), error);
        }
    }

    private static void execute(Session session, String sql) throws SQLException {
        try (Statement statement = session.connection.createStatement()) {
            session.runs(statement).execute(sql);
        }
    }

    /** Called before a commit: the driver does not answer once another run of the task may have begun. */
    void confirm() throws SQLException {
        try {
            reference.texts();
        } catch (IOException error) {
            throw new SQLException("Not committed, since another run of this task may have begun: " + error, "08001", error);
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

    /** A driver, and the URL as it takes it. */
    private record Chosen(Driver driver, String url) {}

    /** Of that class if it accepts the URL, otherwise any that does, such as MySQL's own. */
    private Chosen driver(String url) throws SQLException {
        ClassLoader loader = Connections.class.getClassLoader();
        Driver named = named(loader);
        if (named != null && named.acceptsURL(url)) return new Chosen(named, url);
        for (Driver each : ServiceLoader.load(Driver.class, loader))
            if (each.acceptsURL(url)) return new Chosen(each, url);
        if (named == null) throw new IllegalStateException("penstock lacks driver " + driver);
        return new Chosen(named, url.startsWith("jdbc:mysql:") ? url + (url.indexOf('?') < 0 ? '?' : '&') + MYSQL : url);
    }

    /** Null if it is not there. */
    private Driver named(ClassLoader loader) throws SQLException {
        if (driver.isEmpty()) return null;
        try {
            return (Driver) Class.forName(driver, true, loader).getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException missing) {
            return null;
        } catch (ReflectiveOperationException error) {
            throw new SQLException("The driver " + driver + " can't be loaded: " + error, "08001", error);
        }
    }
}
