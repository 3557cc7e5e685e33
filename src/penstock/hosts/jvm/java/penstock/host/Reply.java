package penstock.host;

import java.nio.ByteBuffer;

/** The result of a request: a value that Jackson can write, and bytes beside it. */
public record Reply(Object result, ByteBuffer payload) {
    public static final ByteBuffer EMPTY = ByteBuffer.allocate(0);
    public static final Reply NONE = new Reply(null, EMPTY);

    public static Reply of(Object result) {
        return new Reply(result, EMPTY);
    }

    public static Reply of(Object result, byte[] payload) {
        return new Reply(result, ByteBuffer.wrap(payload));
    }

    public static Reply of(Object result, ByteBuffer payload) {
        return new Reply(result, payload);
    }
}
