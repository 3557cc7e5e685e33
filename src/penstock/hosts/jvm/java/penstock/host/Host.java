package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import penstock.host.plugins.PluginLoaders;

/** State that all sessions of this JVM share: its settings, its plugins, and its end. */
public final class Host {
    public static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<Session> SESSIONS = ConcurrentHashMap.newKeySet();
    private static final long FIRST_SESSION_MS = 60_000;
    /** Time for which a run of a task waits for the end of the run before. */
    private static final long SAME_SESSION_MS = 15_000;
    private static final long LAST_LINES_MS = 1_000;

    private static Path socket;
    private static JsonNode settings;
    private static Plugins plugins;
    /** Since when there has been no session, by {@code System.nanoTime}. */
    private static long idleSince = System.nanoTime();
    private static boolean used;
    private static volatile boolean closed;

    private Host() {}

    static void start(Path socketFile, Path settingsFile) throws IOException {
        socket = socketFile;
        settings = JSON.readTree(settingsFile.toFile());
        Thread end = new Thread(Host::endWhenIdle, "idle-watch");
        end.setDaemon(true);
        end.start();
        // A plugin may end this JVM: its last lines say why.
        Runtime.getRuntime().addShutdownHook(new Thread(Host::drainLines, "last-lines"));
    }

    public static JsonNode settings() {
        return settings;
    }

    /** Connect's own loader of plugins, with those of the file that the setting {@code catalogue} names. */
    public static synchronized Plugins plugins() {
        if (plugins == null) {
            try {
                plugins = settings.hasNonNull("catalogue")
                    ? PluginLoaders.of(Path.of(settings.get("catalogue").asText()))
                    : PluginLoaders.withoutPlugins();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return plugins;
    }

    static int sessions() {
        return SESSIONS.size();
    }

    static Set<Session> all() {
        return SESSIONS;
    }

    /**
     * False if this JVM takes no sessions any more; one that has the same member {@code only} as another waits for the
     * other's end first, and if that does not come, nobody gets a session here.
     */
    static synchronized boolean add(Session session) throws InterruptedException {
        String only = session.only();
        long deadline = System.nanoTime() + SAME_SESSION_MS * 1_000_000;
        while (!closed && only != null && SESSIONS.stream().anyMatch(each -> only.equals(each.only()))) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                close();
            } else {
                Host.class.wait(left);
            }
        }
        if (closed) {
            return false;
        }
        used = true;
        return SESSIONS.add(session);
    }

    static synchronized void remove(Session session) {
        if (SESSIONS.remove(session) && SESSIONS.isEmpty()) {
            idleSince = System.nanoTime();
            if (!LeftThreads.all().isEmpty()) {
                close();
            }
        }
        Host.class.notifyAll();
    }

    /** No new sessions: the next one gets a new JVM, and this one ends with its last session. */
    static synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                Files.deleteIfExists(socket);
            } catch (IOException e) {
                System.err.println("Could not delete " + socket + ": " + e);
            }
        }
    }

    private static void drainLines() {
        try {
            for (Session each : SESSIONS) {
                each.lines().drain(LAST_LINES_MS);
            }
        } catch (InterruptedException e) {
            // it ends at once
        }
    }

    private static void endWhenIdle() {
        long linger = settings.path("linger.ms").asLong(5_000);
        while (true) {
            try {
                Thread.sleep(Math.min(linger, 200) + 1);
            } catch (InterruptedException e) {
                continue;
            }
            synchronized (Host.class) {
                long idle = (System.nanoTime() - idleSince) / 1_000_000;
                if (SESSIONS.isEmpty() && (closed || idle >= (used ? linger : FIRST_SESSION_MS))) {
                    close();
                    end();
                }
            }
        }
    }

    private static void end() {
        try {
            Files.createFile(socket.resolveSibling("ended"));
        } catch (IOException e) {
            System.err.println("Could not note the end: " + e);
        }
        Thread exit = new Thread(() -> System.exit(0), "exit");
        exit.setDaemon(true);
        exit.start();
        try {
            exit.join(3_000);
        } catch (InterruptedException e) {
            // it ends at once
        }
        Runtime.getRuntime().halt(0);
    }
}
