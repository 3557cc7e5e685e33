package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;

/** Messages on a connection: two lengths (little-endian), a JSON object, and bytes beside it. */
final class Frames {
    /** A message that has been read. */
    record Frame(JsonNode message, ByteBuffer payload) {}

    /** A channel copies to memory outside of the heap what it is given, and keeps as much of that for its thread. */
    private static final int MOST_AT_ONCE = 1 << 18;

    private final SocketChannel channel;
    private final ByteBuffer head = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);

    Frames(SocketChannel channel) {
        this.channel = channel;
    }

    /** Called by one thread only. */
    Frame read() throws IOException {
        head.clear();
        fill(head);
        ByteBuffer json = ByteBuffer.allocate(head.getInt());
        ByteBuffer payload = ByteBuffer.allocate(head.getInt()).order(ByteOrder.LITTLE_ENDIAN);
        fill(json);
        fill(payload);
        return new Frame(Host.JSON.readTree(json.array()), payload);
    }

    /** Called by one thread only, which nobody interrupts: that would close the channel. */
    void write(byte[] json, ByteBuffer payload) throws IOException {
        ByteBuffer lengths = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
        lengths.putInt(json.length).putInt(payload.remaining()).flip();
        ByteBuffer[] parts = {lengths, ByteBuffer.wrap(json), payload};
        if (json.length > MOST_AT_ONCE || payload.remaining() > MOST_AT_ONCE) {
            for (ByteBuffer part : parts) {
                writeAll(part);
            }
            return;
        }
        while (parts[0].hasRemaining() || parts[1].hasRemaining() || parts[2].hasRemaining()) {
            channel.write(parts);
        }
    }

    private void writeAll(ByteBuffer part) throws IOException {
        int end = part.limit();
        while (part.position() < end) {
            part.limit(Math.min(end, part.position() + MOST_AT_ONCE));
            channel.write(part);
        }
    }

    private void fill(ByteBuffer buffer) throws IOException {
        int end = buffer.limit();
        while (buffer.position() < end) {
            buffer.limit(Math.min(end, buffer.position() + MOST_AT_ONCE));
            if (channel.read(buffer) < 0) {
                throw new EOFException();
            }
        }
        buffer.flip();
    }
}
