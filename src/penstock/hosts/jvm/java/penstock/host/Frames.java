package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/**
 * Messages on a connection, as {@code penstock.wire.framing} sends them: a length of four bytes (big-endian), a JSON
 * object, and bytes beside it in frames of their own, if the highest bit of the length is set.
 */
final class Frames {
    /** A message that has been read; its payload is little-endian. */
    record Frame(JsonNode message, ByteBuffer payload) {}

    /** A channel copies to memory outside of the heap what it is given, and keeps as much of that for its thread. */
    private static final int MAX_AT_ONCE = 1 << 18;
    private static final int FOLLOWED = 1 << 31;

    private final SocketChannel channel;
    private final ByteBuffer head = ByteBuffer.allocate(4);

    Frames(SocketChannel channel) {
        this.channel = channel;
    }

    /** Called by one thread only. */
    Frame read() throws IOException {
        int header = length();
        ByteBuffer json = frame(header);
        byte[] payload = {};
        while ((header & FOLLOWED) != 0) {
            header = length();
            byte[] next = frame(header).array();
            if (payload.length == 0) {
                payload = next;
            } else {
                int start = payload.length;
                payload = Arrays.copyOf(payload, start + next.length);
                System.arraycopy(next, 0, payload, start, next.length);
            }
        }
        return new Frame(Host.JSON.readTree(json.array()), ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN));
    }

    /** Called by one thread only, which nobody interrupts: that would close the channel. */
    void write(byte[] json, ByteBuffer payload) throws IOException {
        boolean followed = payload.hasRemaining();
        ByteBuffer[] parts = {
            header(json.length | (followed ? FOLLOWED : 0)),
            ByteBuffer.wrap(json),
            followed ? header(payload.remaining()) : Reply.EMPTY,
            payload
        };
        if (json.length > MAX_AT_ONCE || payload.remaining() > MAX_AT_ONCE) {
            for (ByteBuffer part : parts) {
                writeAll(part);
            }
            return;
        }
        while (parts[0].hasRemaining() || parts[1].hasRemaining() || parts[2].hasRemaining() || parts[3].hasRemaining()) {
            channel.write(parts);
        }
    }

    private static ByteBuffer header(int value) {
        return ByteBuffer.allocate(4).putInt(value).flip();
    }

    private int length() throws IOException {
        head.clear();
        fill(head);
        return head.getInt();
    }

    private ByteBuffer frame(int header) throws IOException {
        ByteBuffer body = ByteBuffer.allocate(header & ~FOLLOWED);
        fill(body);
        return body;
    }

    private void writeAll(ByteBuffer part) throws IOException {
        int end = part.limit();
        while (part.position() < end) {
            part.limit(Math.min(end, part.position() + MAX_AT_ONCE));
            channel.write(part);
        }
    }

    private void fill(ByteBuffer buffer) throws IOException {
        int end = buffer.limit();
        while (buffer.position() < end) {
            buffer.limit(Math.min(end, buffer.position() + MAX_AT_ONCE));
            if (channel.read(buffer) < 0) {
                throw new EOFException();
            }
        }
        buffer.flip();
    }
}
