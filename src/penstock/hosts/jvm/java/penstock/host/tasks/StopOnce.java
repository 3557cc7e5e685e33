package penstock.host.tasks;

import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The one call of a task's {@code stop}, by a request or at the end of the session. Whoever comes second waits until it
 * has returned: the threads of the session are interrupted afterwards.
 */
final class StopOnce {
    private final AtomicBoolean called = new AtomicBoolean();
    private final CountDownLatch returned = new CountDownLatch(1);

    /** Return the result of the call, or null if it has been made before. */
    <T> T call(Callable<T> stop) throws Exception {
        if (called.getAndSet(true)) {
            returned.await();
            return null;
        }
        try {
            return stop.call();
        } finally {
            returned.countDown();
        }
    }
}
