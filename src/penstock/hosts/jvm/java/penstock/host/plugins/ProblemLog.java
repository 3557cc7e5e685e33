package penstock.host.plugins;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** Takes what Java Connect's scanners log about classes that they leave out. */
final class ProblemLog extends AbstractAppender {
    private static final String SCANNERS = "org.apache.kafka.connect.runtime.isolation";
    private final Set<String> lines = new LinkedHashSet<>();

    private ProblemLog() {
        super("problems", null, null, true, Property.EMPTY_ARRAY);
    }

    /** Everything else that is logged is of no interest here, and is dropped. */
    static ProblemLog install() {
        ProblemLog log = new ProblemLog();
        LoggerContext context = LoggerContext.getContext(false);
        var root = context.getConfiguration().getRootLogger();
        root.getAppenders().keySet().forEach(root::removeAppender);
        log.start();
        root.addAppender(log, Level.ERROR, null);
        context.updateLoggers();
        return log;
    }

    @Override
    public synchronized void append(LogEvent event) {
        if (event.getLoggerName().startsWith(SCANNERS)) {
            Throwable thrown = event.getThrown();
            String cause = thrown == null ? "" : " (" + root(thrown) + ")";
            lines.add(event.getMessage().getFormattedMessage() + cause);
        }
    }

    synchronized void add(String line) {
        lines.add(line);
    }

    synchronized List<String> take() {
        List<String> taken = new ArrayList<>(lines);
        lines.clear();
        return taken;
    }

    private static Throwable root(Throwable error) {
        Throwable at = error;
        while (at.getCause() != null) {
            at = at.getCause();
        }
        return at;
    }
}
