package penstock.tests;

import org.slf4j.LoggerFactory;

/** A thread that the first task starts which uses it, and which serves all. */
final class Shared {
    private static Thread thread;

    private Shared() {}

    static synchronized void use() {
        if (thread == null) {
            thread = new Thread(Shared::serve, "shared");
            thread.setDaemon(true);
            thread.start();
        }
        if (!thread.isAlive()) {
            throw new IllegalStateException("The shared thread has ended");
        }
    }

    private static void serve() {
        try {
            for (int i = 0; ; i++) {
                LoggerFactory.getLogger(Shared.class).info("It serves, {}", i);
                Thread.sleep(100);
            }
        } catch (InterruptedException e) {
            // the end
        }
    }
}
