package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.connect.util.LoggingContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection and everything that belongs to it: the lanes on which calls run, and the threads that plugins start. */
public final class Session {
    private static final Logger log = LoggerFactory.getLogger(Session.class);
    private static final String CONNECTOR_THREAD = "connector-thread-";
    private static final ThreadLocal<Long> CALL = new ThreadLocal<>();
    private static final ThreadGroup HOST_THREADS = Thread.currentThread().getThreadGroup();
    private static final long CLOSE_MS = 5_000;

    /** The threads of a session; those that a plugin starts belong to it, too. */
    private static final class Group extends ThreadGroup {
        /** Null after the end: a group lives as long as its threads, and must not keep what the session held. */
        volatile Session session;

        Group(Session session, String name) {
            super(name);
            this.session = session;
        }

        @Override
        public void uncaughtException(Thread thread, Throwable error) {
            if (!(error instanceof ThreadDeath)) {
                log.error("Uncaught exception in thread {}", thread.getName(), error);
            }
        }
    }

    /** {@code message} is null at the end of the session. */
    private record Outgoing(byte[] message, ByteBuffer payload) {
        /** Throws here, where the caller learns of it, if JSON has no form for something in the message. */
        static Outgoing of(Map<String, Object> message, ByteBuffer payload) {
            try {
                return new Outgoing(Host.JSON.writeValueAsBytes(message), payload);
            } catch (IOException e) {
                throw new ConnectException("What a plugin has returned can't be written: " + e.getMessage(), e);
            }
        }
    }

    private final SocketChannel channel;
    private final Frames frames;
    private final LinkedBlockingQueue<Outgoing> outgoing = new LinkedBlockingQueue<>();
    private final Map<String, Lane> lanes = new HashMap<>();
    private final Map<Class<?>, Object> states = new HashMap<>();
    private final Map<Long, CompletableFuture<Reply>> waiting = new ConcurrentHashMap<>();
    private final AtomicLong calls = new AtomicLong();
    private final Deque<AutoCloseable> closers = new ArrayDeque<>();
    /** The threads that no plugin has started. */
    private final Queue<Thread> own = new ConcurrentLinkedQueue<>();
    private final LogLines lines = new LogLines(this, HOST_THREADS);
    private Group group;
    private Thread writer;
    private JsonNode about;
    private volatile boolean closed;

    private Session(SocketChannel channel) {
        this.channel = channel;
        this.frames = new Frames(channel);
    }

    static void open(SocketChannel channel) {
        Session session = new Session(channel);
        Thread reader = new Thread(session::read, "session-reader");
        reader.setDaemon(true);
        reader.start();
    }

    /** The session to which the current thread belongs; null if it belongs to none, or to one that has ended. */
    public static Session current() {
        for (ThreadGroup g = Thread.currentThread().getThreadGroup(); g != null; g = g.getParent()) {
            if (g instanceof Group) {
                return ((Group) g).session;
            }
        }
        return null;
    }

    /** The message {@code open}, with which the other side has opened the session. */
    public JsonNode about() {
        return about;
    }

    /** The task, of which only one session may be open at a time; null for others. */
    String only() {
        return about.path("only").asText(null);
    }

    LogLines lines() {
        return lines;
    }

    public boolean isClosed() {
        return closed;
    }

    /** The one object of this class that belongs to the session. */
    public <T> T state(Class<T> type, Supplier<T> make) {
        synchronized (states) {
            Object known = states.get(type);
            if (known == null) {
                known = make.get(); // which may ask for the state of another class
                states.put(type, known);
            }
            return type.cast(known);
        }
    }

    /** To be closed when the session ends, the last one first. */
    public synchronized void onClose(AutoCloseable each) {
        closers.push(each);
    }

    /** Send a request of {@link Messages#SENT} and wait for its result. Throws ConnectException if it fails. */
    public Reply call(String type, Map<String, ?> fields) {
        return call(type, fields, Reply.EMPTY);
    }

    public Reply call(String type, Map<String, ?> fields, ByteBuffer payload) {
        return await(type, begin(type, fields, payload));
    }

    /** A request whose result is awaited. */
    record Call(long id, CompletableFuture<Reply> reply) {}

    /** Send a request without waiting for its result, for which {@link #await} must be called. */
    Call begin(String type, Map<String, ?> fields, ByteBuffer payload) {
        long id = calls.incrementAndGet();
        Map<String, Object> message = envelope("call", id);
        message.put("message", Messages.message(type, fields));
        if (CALL.get() != null) {
            message.put("during", CALL.get());
        }
        Outgoing request = Outgoing.of(message, payload);
        CompletableFuture<Reply> reply = new CompletableFuture<>();
        waiting.put(id, reply);
        outgoing.add(request);
        return new Call(id, reply);
    }

    /** Wait for the result of a request. Throws ConnectException if it fails. */
    Reply await(String type, Call call) {
        try {
            if (closed) {
                throw new ConnectException("The task has ended");
            }
            return call.reply().get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ConnectException("Interrupted while waiting for " + type, e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException known ? known : new ConnectException(e.getCause());
        } finally {
            waiting.remove(call.id());
        }
    }

    /** Send a message that has no reply. */
    public void tell(String type, Map<String, ?> fields) {
        if (closed) {
            return;
        }
        Map<String, Object> message = envelope("call", null);
        message.put("message", Messages.message(type, fields));
        outgoing.add(Outgoing.of(message, Reply.EMPTY));
    }

    /** {@code call}, {@code reply} or {@code failure}, with the number of the request. */
    private static Map<String, Object> envelope(String type, Long number) {
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("type", type);
        if (number != null) {
            message.put("number", number);
        }
        return message;
    }

    // -- the connection

    private void read() {
        boolean added = false;
        try {
            Frames.Frame first = frames.read();
            about = first.message().path("message");
            Messages.type(about);
            added = Host.add(this);
            if (!added) {
                return;
            }
            String name = about.path("name").asText("session");
            group = new Group(this, name);
            Thread.currentThread().setName("session-reader " + name);
            writer = new Thread(this::write, "session-writer " + name);
            writer.setDaemon(true);
            writer.start();
            reply(first.message().get("number").asLong(), "open", Reply.of(Map.of("pid", ProcessHandle.current().pid())));
            while (true) {
                handle(frames.read());
            }
        } catch (IOException e) {
            // the other side has ended, or closed the session
        } catch (Throwable e) {
            log.error("A session ends", e);
        } finally {
            if (added) {
                end();
                MBeans.forget(this);
                Host.remove(this);
            }
            disconnect();
        }
    }

    private void disconnect() {
        try {
            channel.close();
        } catch (IOException e) {
            // it is closed already
        }
    }

    private void handle(Frames.Frame frame) {
        JsonNode message = frame.message();
        String type = message.path("type").asText();
        if (type.equals("call")) {
            lane(message.get("lane").asText()).add(frame);
            return;
        }
        CompletableFuture<Reply> future = waiting.get(message.get("number").asLong());
        if (future == null) {
            return;
        }
        switch (type) {
            case "reply" -> future.complete(Reply.of(message.get("result"), frame.payload()));
            case "failure" -> future.completeExceptionally(new ConnectException(message.get("error").asText()));
            default -> throw new IllegalArgumentException("There is no message " + type);
        }
    }

    private void write() {
        try {
            while (true) {
                Outgoing next = outgoing.take();
                if (next.message() == null) {
                    return;
                }
                frames.write(next.message(), next.payload());
            }
        } catch (InterruptedException | IOException e) {
            // the reader sees that, too
        } catch (Throwable e) {
            disconnect(); // nobody must wait for a reply that never comes
            log.error("A session has ended, since it can't send", e);
        }
    }

    private void reply(long number, String type, Reply reply) {
        Map<String, Object> message = envelope("reply", number);
        message.put("result", Messages.reply(type, reply.result()));
        outgoing.add(Outgoing.of(message, reply.payload()));
    }

    private void fail(long number, Throwable error) {
        Map<String, Object> message = envelope("failure", number);
        message.put("error", Failures.document(error));
        outgoing.add(Outgoing.of(message, Reply.EMPTY));
    }

    // -- lanes

    private synchronized Lane lane(String name) {
        return lanes.computeIfAbsent(name, each -> {
            String thread = name.equals("task") ? about.path("thread").asText("task") : name + " " + group.getName();
            Lane lane = new Lane();
            Thread made = new Thread(group, lane, thread);
            own.add(made);
            made.start();
            return lane;
        });
    }

    /** A thread that runs calls one after the other. */
    private final class Lane implements Runnable {
        private final LinkedBlockingQueue<Frames.Frame> queue = new LinkedBlockingQueue<>();

        void add(Frames.Frame frame) {
            queue.add(frame);
        }

        @Override
        public void run() {
            nameContext();
            while (!closed) {
                try {
                    run(queue.take());
                } catch (InterruptedException e) {
                    // a plugin's interrupt that came late, or the end of the session
                }
            }
        }

        /** Set the context of log lines (KIP-449) for the life of this thread, as Java Connect has it. */
        private void nameContext() {
            String thread = about.path("thread").asText("");
            if (about.hasNonNull("task")) {
                LoggingContext.forTask(new ConnectorTaskId(about.get("connector").asText(), about.get("task").asInt()));
            } else if (thread.startsWith(CONNECTOR_THREAD)) {
                LoggingContext.forConnector(thread.substring(CONNECTOR_THREAD.length()));
            }
        }

        private void run(Frames.Frame frame) {
            JsonNode message = frame.message().get("message");
            long number = frame.message().get("number").asLong();
            CALL.set(number);
            try {
                String type = Messages.type(message);
                reply(number, type, Methods.ALL.get(type).call(Session.this, message, frame.payload()));
            } catch (Throwable e) {
                fail(number, e);
            } finally {
                CALL.remove();
            }
        }
    }

    // -- the end

    /** Close what is open, then end the threads; those that should and do not keep this JVM from new sessions. */
    private void end() {
        failWaiting(); // for a reply that can't come any more: a call of the plugin may have to return before its stop
        Thread closing = new Thread(group, this::closeAll, "close " + group.getName());
        own.add(closing);
        closing.start();
        join(closing, CLOSE_MS);
        lines.finish();
        closed = true;
        failWaiting();
        outgoing.add(new Outgoing(null, Reply.EMPTY));
        List<Thread> left = LeftThreads.end(group, own, CLOSE_MS);
        left.forEach(each ->
            log.warn("Thread {} of {} does not end; this JVM takes no new tasks", each.getName(), group.getName()));
        if (!left.isEmpty()) {
            Host.close();
        }
        join(writer, CLOSE_MS); // the last lines are among what it sends
        group.session = null;
    }

    private void failWaiting() {
        waiting.values().forEach(each -> each.completeExceptionally(new ConnectException("The task has ended")));
    }

    private void closeAll() {
        while (true) {
            AutoCloseable next;
            synchronized (this) {
                next = closers.poll();
            }
            if (next == null) {
                return;
            }
            try {
                next.close();
            } catch (Throwable e) {
                log.warn("Could not close {} of {}", next, group.getName(), e);
            }
        }
    }

    private static void join(Thread thread, long ms) {
        try {
            thread.join(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
