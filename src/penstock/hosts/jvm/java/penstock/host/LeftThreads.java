package penstock.host;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The end of the threads of sessions. What a plugin has started may serve other sessions, by a static field: it goes on
 * while there are any, as in Java Connect, and is interrupted with the last.
 */
final class LeftThreads {
    /** Threads of sessions that have ended, or are about to. */
    private static final Set<ThreadGroup> GROUPS = ConcurrentHashMap.newKeySet();
    private static final long EACH_MS = 20;

    private LeftThreads() {}

    /**
     * Interrupt the threads that are to end with a session, again and again: its {@code own}, and with the last session
     * all others. The result is those that have not ended after so many milliseconds.
     */
    static List<Thread> end(ThreadGroup group, Collection<Thread> own, long ms) {
        GROUPS.add(group);
        long deadline = System.nanoTime() + ms * 1_000_000;
        while (true) {
            List<Thread> left = Host.sessions() > 1 ? own.stream().filter(Thread::isAlive).toList() : all();
            if (left.isEmpty() || System.nanoTime() >= deadline) {
                GROUPS.removeIf(each -> each.activeCount() == 0);
                return left;
            }
            left.forEach(Thread::interrupt);
            try {
                Thread.sleep(EACH_MS);
            } catch (InterruptedException e) {
                return left;
            }
        }
    }

    /** Return the threads that go on. */
    static List<Thread> all() {
        List<Thread> found = new ArrayList<>();
        for (ThreadGroup group : GROUPS) {
            Thread[] threads = new Thread[group.activeCount() + 8];
            int n = group.enumerate(threads);
            if (n == 0) {
                GROUPS.remove(group);
            }
            found.addAll(Arrays.asList(threads).subList(0, n));
        }
        return found;
    }
}
