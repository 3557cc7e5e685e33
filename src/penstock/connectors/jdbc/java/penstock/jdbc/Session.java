package penstock.jdbc;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;

/** A connection that ends with its task. A statement that waits for a lock, or for a network, hears of no interrupt: so a
    thread of this process watches all sessions, and ends those whose task of Spark was killed or has ended, and those
    whose run may have a successor, as the safe of its driver tells. When the process itself is told to end, all do. */
final class Session implements AutoCloseable {
    /** A session that was ended; as for a lost connection, another try may succeed, if there is one. */
    static final String ENDED = "08006";

    /** MariaDB's and MySQL's ER_LOCK_WAIT_TIMEOUT. */
    private static final int LOCK_WAIT = 1205;

    private static final long TICK = 200;
    /** The milliseconds after which the driver is asked whether a session that still works may do so, and how often. */
    private static final long ASK = 1_000;
    /** The milliseconds after which a driver that does not answer counts as lost. */
    private static final long SILENCE = 8_000;
    /** The ticks without any session after which the watching thread ends. */
    private static final int REST = 25;
    /** How often a statement is cancelled, a tick apart, before the connection is closed under it. */
    private static final int CANCELS = 3;
    private static final long PATIENCE = 1_000;

    private static final Set<Session> OPEN = ConcurrentHashMap.newKeySet();
    /** The runs that work, by the names of their references; only the watching thread has them. */
    private static Map<String, Run> runs = Map.of();
    private static Thread watching;

    final Connection connection;
    private final Reference run;
    private final TaskContext task;
    private final long opened = System.nanoTime();
    private volatile Statement statement;
    /** Whether it works for Python in Spark's driver, where there is no task of Spark. */
    private volatile boolean busy;
    private volatile boolean ended;
    private boolean completed;

    private Session(Connection connection, Reference run) {
        this.connection = connection;
        this.run = run;
        task = TaskContext.get();
    }

    /** Called in the thread of Spark's task, if it is for one. */
    static Session of(Connection connection, Reference run) {
        Session made = new Session(connection, run);
        OPEN.add(made);
        watch();
        return made;
    }

    /** Called before each execution of a statement, which is the one to cancel from now on. Raises SQLException if the
        session was ended. */
    <S extends Statement> S runs(S next) throws SQLException {
        statement = next;
        check();
        return next;
    }

    /** Called in Spark's driver before the database is asked; {@code rests} follows. */
    void works() throws SQLException {
        busy = true;
        check();
    }

    void rests() {
        busy = false;
        statement = null;
    }

    /** One execution of a statement. */
    interface Execution<T> {
        T run() throws SQLException;
    }

    /** Executes a statement that may wait for a lock, and executes it again where {@code mayWait} says so. */
    <T> T waiting(Execution<T> execution) throws SQLException {
        if (!waitsBriefly()) return execution.run();
        long begun = System.nanoTime();
        // Not released: a driver may fetch the rows of the result later.
        Savepoint before = connection.getAutoCommit() ? null : connection.setSavepoint();
        while (true) {
            try {
                return execution.run();
            } catch (SQLException error) {
                if (!mayWait(error, before, begun)) throw error;
            }
        }
    }

    /** Whether to keep waiting for a lock that MariaDB has not given in one of the session's short waits. What was done
        after the savepoint is then undone. {@code before}: null if each statement is a transaction. {@code begun}: the
        beginning of the first wait, by System.nanoTime. */
    boolean mayWait(SQLException error, Savepoint before, long begun) {
        if (Plain.telling(error).getErrorCode() != LOCK_WAIT) return false;
        try {
            if ((System.nanoTime() - begun) / 1_000_000 >= lockWait()) return false;
            if (before != null) connection.rollback(before);
            return true;
        } catch (SQLException lost) {
            return false; // The connection, or with innodb_rollback_on_timeout the transaction: the first error counts.
        }
    }

    /** Whether statements wait for locks for short times, one after the other: the server does not check whether its
        client is still there, so nothing but the timeout ends a wait. */
    private boolean waitsBriefly() throws SQLException {
        String url = connection.getMetaData().getURL();
        return url != null && (url.startsWith("jdbc:mariadb:") || url.startsWith("jdbc:mysql:"));
    }

    /** The milliseconds that statements of this session may wait for a lock of a row in all; 0 for databases whose
        statements do not wait briefly. */
    private long lockWait() throws SQLException {
        if (!waitsBriefly()) return 0;
        try (Statement asking = connection.createStatement();
                ResultSet rows = runs(asking).executeQuery("SELECT @penstock_lock_wait")) {
            return rows.next() ? 1_000 * rows.getLong(1) : 0;
        }
    }

    private void check() throws SQLException {
        if (ended) throw new SQLException("The session was ended, since its task was stopped or may have a successor", ENDED);
    }

    @Override
    public void close() throws SQLException {
        OPEN.remove(this);
        connection.close();
    }

    // -- the watching thread

    private static synchronized void watch() {
        if (watching != null) return;
        watching = new Thread(Session::watchAll, "penstock-jdbc-sessions");
        watching.setDaemon(true);
        watching.start();
    }

    private static void watchAll() {
        Thread last = new Thread(Session::endAll, "penstock-jdbc-end");
        try {
            Runtime.getRuntime().addShutdownHook(last);
        } catch (IllegalStateException ending) {
            endAll();
        }
        for (int resting = 0; ; resting = OPEN.isEmpty() ? resting + 1 : 0) {
            synchronized (Session.class) {
                if (resting > REST && OPEN.isEmpty()) {
                    watching = null;
                    break;
                }
            }
            look();
            slept(TICK);
        }
        try {
            Runtime.getRuntime().removeShutdownHook(last);
        } catch (IllegalStateException ending) {
            // It runs.
        }
    }

    private static void look() {
        Map<String, Run> working = new HashMap<>();
        for (Session each : OPEN) {
            if (each.ended) continue;
            if (each.isTaskOver()) {
                each.end();
            } else if (each.busy || (each.task != null && (System.nanoTime() - each.opened) / 1_000_000 > ASK)) {
                String name = each.run.name();
                Run run = runs.getOrDefault(name, working.getOrDefault(name, new Run(each.run)));
                working.put(name, run);
                if (run.isOver()) each.end();
            }
        }
        runs = working;
    }

    private boolean isTaskOver() {
        if (task == null) return false;
        // The last act of a task is to close its connections.
        if (task.isInterrupted() || completed) return true;
        completed = task.isCompleted();
        return false;
    }

    /** A run of a query that works, of which its driver's safe knows whether it may write. */
    private static final class Run {
        private final Reference reference;
        private volatile long asked = System.nanoTime();
        private volatile long answered = asked;
        private volatile int refusals;
        private volatile int silences;
        private volatile boolean asking;

        Run(Reference reference) {
            this.reference = reference;
        }

        /** One refusal is not enough: a safe with too many callers hangs up, too. */
        boolean isOver() {
            long now = System.nanoTime();
            if (!asking && (now - asked) / 1_000_000 >= ASK) {
                asking = true;
                begun(this::ask, "penstock-jdbc-lease");
            }
            return refusals > 1 || (silences > 1 && (now - answered) / 1_000_000 > SILENCE);
        }

        private void ask() {
            try {
                Boolean knows = reference.knows((int) SILENCE / 2);
                if (knows == null) {
                    silences++;
                } else {
                    silences = 0;
                    refusals = knows ? 0 : refusals + 1;
                    answered = System.nanoTime();
                }
            } finally {
                asked = System.nanoTime();
                asking = false;
            }
        }
    }

    // -- the end of a session

    private void end() {
        ended = true;
        begun(this::cancelAndClose, "penstock-jdbc-end");
    }

    /** The thread that is in a statement raises its error, and closes the connection; if it can't, it is closed here. */
    private void cancelAndClose() {
        for (int i = 0; i < CANCELS && OPEN.contains(this); i++) {
            Thread cancelling = begun(this::cancel, "penstock-jdbc-cancel");
            try {
                cancelling.join(PATIENCE);
            } catch (InterruptedException interrupted) {
                break;
            }
            slept(TICK);
        }
        if (!OPEN.remove(this)) return;
        try {
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException | LinkageError error) {
            closeAnyway();
        }
    }

    private void closeAnyway() {
        try {
            connection.close();
        } catch (SQLException | RuntimeException ignored) {
            // There is no other way to end it.
        }
    }

    /** PostgreSQL's and Oracle's drivers cancel all that a connection does, such as a COPY, which is no statement. */
    private void cancel() {
        for (String name : new String[] {"cancelQuery", "cancel"}) {
            try {
                Method found = connection.getClass().getMethod(name);
                found.invoke(connection);
                return;
            } catch (NoSuchMethodException other) {
                // Another driver.
            } catch (ReflectiveOperationException | RuntimeException error) {
                return; // The connection is closed, or the database can't be reached.
            }
        }
        Statement its = statement;
        try {
            if (its != null) its.cancel();
        } catch (SQLException | RuntimeException ignored) {
            // It has ended, or can't be cancelled.
        }
    }

    /** Called when this process is told to end, before Spark and the drivers are gone. */
    private static void endAll() {
        List<Thread> ends = new ArrayList<>();
        for (Session each : OPEN) {
            each.ended = true;
            ends.add(begun(each::cancelAndClose, "penstock-jdbc-end"));
        }
        long until = System.nanoTime() + 2 * PATIENCE * 1_000_000;
        try {
            for (Thread each : ends) each.join(Math.max(1, (until - System.nanoTime()) / 1_000_000));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static Thread begun(Runnable action, String name) {
        Thread made = new Thread(action, name);
        made.setDaemon(true);
        made.start();
        return made;
    }

    private static boolean slept(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
            return true;
        } catch (InterruptedException interrupted) {
            return false;
        }
    }
}
