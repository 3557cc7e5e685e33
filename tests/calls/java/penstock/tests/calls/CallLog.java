package penstock.tests.calls;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;

/** A file with a line per call: milliseconds, object, method, thread, number of arguments' elements. */
final class CallLog {
    private final Path log;
    private final Path control;
    private final String name;

    CallLog(Map<String, ?> settings, String part, Object caller) {
        log = Path.of((String) settings.get("probe.log"));
        control = log.resolveSibling("control");
        name = part + "\t" + Integer.toHexString(System.identityHashCode(caller));
    }

    void note(String method, int size) {
        Thread thread = Thread.currentThread();
        String line = System.currentTimeMillis() + "\t" + name + "\t" + method + "\t" + ProcessHandle.current().pid() + "-"
            + thread.getId() + "\t" + thread.getName() + "\t" + size + "\n";
        try {
            Files.write(log, line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The present order: idle, busy, filtering, retrying, failing. */
    String order() {
        try {
            return Files.readString(control);
        } catch (NoSuchFileException error) {
            return "idle";
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
