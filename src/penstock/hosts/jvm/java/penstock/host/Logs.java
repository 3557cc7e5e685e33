package penstock.host;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;

/** Lines that plugins log, or print, go to the session whose thread writes them, else to any that is open. */
final class Logs {
    private static final PrintStream CONSOLE = System.err;
    private static final int MAX_LINE = 64 * 1024;

    /** log4j itself refers to it weakly: without a logger that refers to it, it would go, and our appender with it. */
    private static LoggerContext context;

    private Logs() {}

    static void start() {
        context = (LoggerContext) LogManager.getContext(false);
        Configuration configuration = context.getConfiguration();
        Relay relay = new Relay();
        relay.start();
        configuration.getRootLogger().getAppenders().keySet().forEach(configuration.getRootLogger()::removeAppender);
        configuration.getRootLogger().addAppender(relay, null, null);
        configuration.getRootLogger().setLevel(Level.INFO);
        context.updateLoggers();
        Configurator.setLevel("org.apache.kafka.connect.runtime.isolation", Level.WARN); // it lists all plugins
        System.setOut(new PrintStream(new Lines("stdout", Level.INFO), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Lines("stderr", Level.WARN), true, StandardCharsets.UTF_8));
    }

    static void setLevel(String name, String level) {
        Configurator.setLevel(name.equals("root") ? LogManager.ROOT_LOGGER_NAME : name, Level.toLevel(level));
    }

    private static void send(String logger, Level level, String thread, long time, String text, String trace) {
        Session session = Session.current();
        if (session == null || session.isClosed()) {
            session = Host.all().stream().filter(each -> !each.isClosed()).findFirst().orElse(null);
        }
        if (session == null) {
            CONSOLE.println(level + " " + text + " (" + logger + ")" + (trace == null ? "" : "\n" + trace));
            return;
        }
        Map<String, Object> line = new HashMap<>();
        line.put("logger", logger);
        line.put("level", level.intLevel());
        line.put("thread", thread);
        line.put("time", time);
        line.put("text", text);
        line.put("trace", trace);
        session.lines().add(line, text.length() + (trace == null ? 0 : trace.length()));
    }

    private static final class Relay extends AbstractAppender {
        Relay() {
            super("sessions", null, null, true, Property.EMPTY_ARRAY);
        }

        @Override
        public void append(LogEvent event) {
            Throwable thrown = event.getThrown();
            String trace = thrown == null ? null : (String) Failures.document(thrown).get("trace");
            String text = event.getMessage().getFormattedMessage();
            send(event.getLoggerName(), event.getLevel(), event.getThreadName(), event.getTimeMillis(), text, trace);
        }
    }

    /** Sends what is printed, line by line. */
    private static final class Lines extends OutputStream {
        private final String name;
        private final Level level;
        private final ByteArrayOutputStream line = new ByteArrayOutputStream();

        Lines(String name, Level level) {
            this.name = name;
            this.level = level;
        }

        @Override
        public synchronized void write(int b) {
            if (b == '\n' || line.size() >= MAX_LINE) {
                String text = line.toString(StandardCharsets.UTF_8);
                line.reset();
                if (!text.isBlank()) {
                    send(name, level, Thread.currentThread().getName(), System.currentTimeMillis(), text, null);
                }
            }
            if (b != '\n' && b != '\r') {
                line.write(b);
            }
        }
    }
}
