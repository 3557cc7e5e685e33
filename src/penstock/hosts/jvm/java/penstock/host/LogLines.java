package penstock.host;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * The log lines of a session, on their way to the other side, which replies when it has written them. Nobody waits for
 * them: replies overtake them, and of more than the other side can take the oldest are dropped, and counted.
 */
final class LogLines {
    private static final int MAX_WAITING = 1 << 22;
    private static final int MAX_MESSAGE = 1 << 16;
    private static final int OVERHEAD = 128;

    /** Null for a line: so many have been dropped there. */
    private record Waiting(Map<String, Object> line, int size) {}

    private final Session session;
    private final ThreadGroup group;
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private int size;
    private boolean finished;
    private boolean unconfirmed;
    /** Whether lines have been taken that are not on their way yet. */
    private boolean sending;
    private Thread thread;

    /** {@code group}: of the thread that sends; not the session's, whose threads are ended before the last line. */
    LogLines(Session session, ThreadGroup group) {
        this.session = session;
        this.group = group;
    }

    /** {@code length}: the characters of its text. */
    synchronized void add(Map<String, Object> line, int length) {
        if (finished) {
            return;
        }
        waiting.add(new Waiting(line, length + OVERHEAD));
        size += length + OVERHEAD;
        if (size > MAX_WAITING) {
            dropOldest();
        }
        if (thread == null) {
            thread = new Thread(group, this::send, "session-lines");
            thread.setDaemon(true);
            thread.start();
        }
        notifyAll();
    }

    private void dropOldest() {
        int count = 0;
        while (size > MAX_WAITING / 2 && waiting.size() > 1) {
            Waiting oldest = waiting.remove();
            count += oldest.line() == null ? oldest.size() : 1;
            size -= oldest.line() == null ? 0 : oldest.size();
        }
        waiting.addFirst(new Waiting(null, count));
    }

    /** Send what is left without waiting for replies, and take no more. */
    synchronized void finish() {
        finished = true;
        notifyAll();
        try {
            while (sending) {
                wait();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        while (!waiting.isEmpty()) {
            session.tell("log", next());
        }
    }

    /** Wait until the other side has written all lines, for so many milliseconds at most. */
    synchronized void drain(long ms) throws InterruptedException {
        long deadline = System.nanoTime() + ms * 1_000_000;
        for (long left = ms; left > 0 && (unconfirmed || !waiting.isEmpty()); left = (deadline - System.nanoTime()) / 1_000_000) {
            wait(left);
        }
    }

    private void send() {
        try {
            while (true) {
                Map<String, Object> message;
                synchronized (this) {
                    while (waiting.isEmpty() && !finished) {
                        wait();
                    }
                    if (finished) {
                        return;
                    }
                    message = next();
                    unconfirmed = true;
                    sending = true;
                }
                Session.Call call = begin(message);
                session.await("log", call);
                synchronized (this) {
                    unconfirmed = false;
                    notifyAll();
                }
            }
        } catch (InterruptedException | RuntimeException e) {
            // the session has ended
        }
    }

    private Session.Call begin(Map<String, Object> message) {
        try {
            return session.begin("log", message, Reply.EMPTY);
        } finally {
            synchronized (this) {
                sending = false;
                notifyAll();
            }
        }
    }

    /** The fields of the next message. */
    private Map<String, Object> next() {
        List<Map<String, Object>> lines = new ArrayList<>();
        int taken = 0;
        int dropped = 0;
        while (dropped == 0 && !waiting.isEmpty() && (lines.isEmpty() || taken + waiting.peek().size() <= MAX_MESSAGE)) {
            Waiting next = waiting.remove();
            if (next.line() == null) {
                dropped = next.size();
            } else {
                lines.add(next.line());
                taken += next.size();
            }
        }
        size -= taken;
        return Map.of("lines", lines, "dropped", dropped);
    }
}
