package penstock.host;

import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** A JVM that hosts plugins: {@code Main --socket PATH --settings FILE}. It ends soon after its last session. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Path socket = null;
        Path settings = null;
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--socket" -> socket = Path.of(args[i + 1]);
                case "--settings" -> settings = Path.of(args[i + 1]);
                default -> throw new IllegalArgumentException("Unknown option " + args[i]);
            }
        }
        String command = System.getenv("PENSTOCK_COMMAND");
        if (command != null) { // plugins look there for the properties file of the worker
            System.setProperty("sun.java.command", command);
        }
        Host.start(socket, settings);
        Logs.start();
        MBeans.start();
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            // Whoever finds the file must be able to connect.
            Path draft = socket.resolveSibling(".socket");
            server.bind(UnixDomainSocketAddress.of(draft));
            java.nio.file.Files.move(draft, socket);
            while (true) {
                SocketChannel channel = server.accept();
                Session.open(channel);
            }
        }
    }
}
