package penstock.tests;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/**
 * What a connector or task of these tests does when one of its methods is called, as its configuration says:
 * {@code at.PLACE=DEED}, with {@code @N} after the place for its Nth call only ({@code at.put@3}).
 *
 * <p>Deeds: {@code throw CLASS MESSAGE}, {@code exit STATUS}, {@code halt STATUS}, {@code hang} (until interrupted),
 * {@code deaf} (hangs for ever), {@code sleep MS}, {@code linger MS} (sleeps, and writes {@code lingered} or
 * {@code interrupted} down), {@code memory} (fills the heap), {@code stack}, {@code leak} (leaves
 * a thread behind that is no daemon), {@code share} (uses a thread that all tasks share), {@code missing} (a
 * NoClassDefFoundError), {@code log TEXT} (at DEBUG), {@code context} (throws with the context of log lines, KIP-449),
 * {@code print N} (lines), {@code print N DEED} (does the other one then),
 * {@code broken} (an exception that throws another one when it is asked for its cause).
 *
 * <p>With {@code journal=FILE} every call is a line of that file.
 */
final class Conduct {
    static final ConfigDef COMMON = new ConfigDef()
        .define("journal", Type.STRING, null, Importance.LOW, "The file in which calls are written down.");

    private final Map<String, String> config;
    private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();

    Conduct(Map<String, String> config) {
        this.config = Map.copyOf(config);
    }

    /** Called first by every method; {@code detail} is for the journal. */
    void at(String place, Object detail) {
        note(place, detail);
        int call = calls.computeIfAbsent(place, any -> new AtomicInteger()).incrementAndGet();
        String deed = config.getOrDefault("at." + place + "@" + call, config.get("at." + place));
        if (deed != null && deed.startsWith("linger ")) {
            sleep(Long.parseLong(deed.split(" ")[1]));
            note(Thread.interrupted() ? "interrupted" : "lingered", "");
        } else if (deed != null) {
            perform(deed.split(" ", 3));
        }
    }

    void at(String place) {
        at(place, "");
    }

    void note(String place, Object detail) {
        String journal = config.get("journal");
        if (journal == null) {
            return;
        }
        String line = (place + " " + detail).strip() + "\n";
        try {
            Files.writeString(Path.of(journal), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void perform(String[] words) {
        switch (words[0]) {
            case "throw" -> throw Conduct.<RuntimeException>made(words[1], words.length > 2 ? words[2] : null);
            case "exit" -> System.exit(Integer.parseInt(words[1]));
            case "halt" -> Runtime.getRuntime().halt(Integer.parseInt(words[1]));
            case "hang" -> hang();
            case "deaf" -> deaf();
            case "sleep" -> sleep(Long.parseLong(words[1]));
            case "memory" -> fill();
            case "stack" -> recurse(0);
            case "share" -> Shared.use();
            case "leak" -> new Thread(Conduct::deaf, "left-behind").start();
            case "log" -> LoggerFactory.getLogger(Conduct.class).debug(words[1]);
            case "print" -> {
                for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                    System.out.println("line " + i);
                }
                if (words.length > 2) {
                    perform(words[2].split(" ", 3));
                }
            }
            case "broken" -> throw new Broken();
            case "context" -> throw new IllegalStateException(MDC.get("connector.context"));
            case "missing" -> throw new NoClassDefFoundError("some/missing/Class");
            default -> throw new IllegalArgumentException("no such deed: " + words[0]);
        }
    }

    /** Any throwable, checked ones too, with a cause so that traces have two parts. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T made(String name, String message) throws T {
        Throwable made;
        try {
            made = (Throwable) Class.forName(name).getConstructor(String.class).newInstance(message);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e);
        }
        if (made.getCause() == null) {
            made.initCause(new IllegalStateException("the cause of it"));
        }
        throw (T) made;
    }

    private static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public Throwable getCause() {
            throw new IllegalStateException("not to be had");
        }
    }

    private static void hang() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void deaf() {
        while (true) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                // It does not listen.
            }
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void fill() {
        ArrayList<byte[]> heap = new ArrayList<>();
        while (true) {
            heap.add(new byte[1 << 20]);
        }
    }

    private static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }

    /** Throws unless what looks for classes by the thread's loader finds those of the plugin. */
    static void checkLoader(Class<?> plugin) {
        if (Thread.currentThread().getContextClassLoader() != plugin.getClassLoader()) {
            throw new IllegalStateException("The loader of the thread is not that of " + plugin.getName());
        }
    }
}
