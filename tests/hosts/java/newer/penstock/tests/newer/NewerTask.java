package penstock.tests.newer;

import java.io.File;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import org.apache.kafka.common.utils.internals.AbstractIterator;
import org.apache.kafka.common.utils.internals.CloseableIterator;
import org.apache.kafka.common.utils.internals.ExponentialBackoff;
import org.apache.kafka.common.utils.internals.ImplicitLinkedHashCollection;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.common.utils.internals.Sanitizer;
import org.apache.kafka.common.utils.internals.ThreadUtils;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Uses moved classes as types of fields, parameters and results, as bases, nested, in lambdas, and by their names. */
public class NewerTask extends SourceTask {
    private final LogContext context = new LogContext("[newer] ");
    private final Function<String, String> sanitize = Sanitizer::sanitize;
    private String topic;
    private boolean polled;

    /** A subclass of a moved class, with a nested one of it in its signatures. */
    static class Counted extends ImplicitLinkedHashCollection<Counted.Item> {
        static class Item implements ImplicitLinkedHashCollection.Element {
            private int before = ImplicitLinkedHashCollection.INVALID_INDEX;
            private int after = ImplicitLinkedHashCollection.INVALID_INDEX;

            @Override
            public int prev() {
                return before;
            }

            @Override
            public void setPrev(int place) {
                before = place;
            }

            @Override
            public int next() {
                return after;
            }

            @Override
            public void setNext(int place) {
                after = place;
            }
        }
    }

    static class Words extends AbstractIterator<String> {
        private final Iterator<String> words;

        Words(Iterator<String> words) {
            this.words = words;
        }

        @Override
        protected String makeNext() {
            return words.hasNext() ? words.next() : allDone();
        }
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public void start(Map<String, String> props) {
        topic = props.get("topic");
        context.logger(NewerTask.class).info("started");
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        if (polled) {
            Thread.sleep(50);
            return null;
        }
        polled = true;
        List<SourceRecord> records = new ArrayList<>();
        try (CloseableIterator<String> words = closeable(new Words(values().iterator()))) {
            while (words.hasNext()) {
                records.add(new SourceRecord(Map.of(), Map.of(), topic, Schema.STRING_SCHEMA, words.next()));
            }
        }
        return records;
    }

    private static CloseableIterator<String> closeable(AbstractIterator<String> words) {
        return CloseableIterator.wrap(words);
    }

    private List<String> values() {
        PrimitiveRef.IntRef count = PrimitiveRef.ofInt(41);
        count.value++;
        Counted counted = new Counted();
        counted.add(new Counted.Item());
        ThreadFactory threads = ThreadUtils.createThreadFactory("newer-%d", true);
        return List.of(
            sanitize.apply("a b"),
            String.valueOf(count.value),
            context.logPrefix().trim(),
            threads.newThread(() -> {}).getName(),
            String.valueOf(new ExponentialBackoff(5, 2, 100, 0).backoff(1)),
            String.valueOf(counted.size()),
            named(),
            loaded("Shell$ShellCommandExecutor"),
            new File(NewerTask.class.getProtectionDomain().getCodeSource().getLocation().getPath()).isDirectory()
                ? "from a folder" : "from a file");
    }

    private static String named() {
        try {
            return Class.forName("org.apache.kafka.common.utils.internals.Exit").getSimpleName();
        } catch (ClassNotFoundException missing) {
            return missing.toString();
        }
    }

    private static String loaded(String simple) {
        try {
            String name = String.join(".", "org.apache.kafka.common.utils.internals", simple);
            return NewerTask.class.getClassLoader().loadClass(name).getSimpleName();
        } catch (ClassNotFoundException missing) {
            return missing.toString();
        }
    }

    @Override
    public void stop() {}
}
