package penstock.host.columns;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Little-endian bytes that grow. */
public final class Out {
    private ByteBuffer buffer = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);

    private ByteBuffer room(int size) {
        if (buffer.remaining() < size) {
            int position = buffer.position();
            long capacity = Math.max(2L * buffer.capacity(), (long) position + size);
            if (capacity > Integer.MAX_VALUE - 16) {
                capacity = Integer.MAX_VALUE - 16;
                if (capacity - position < size) {
                    throw new IllegalStateException("A batch of more than 2 GB can't leave the JVM");
                }
            }
            buffer = ByteBuffer.wrap(Arrays.copyOf(buffer.array(), (int) capacity)).order(ByteOrder.LITTLE_ENDIAN);
            buffer.position(position);
        }
        return buffer;
    }

    public void u8(int value) {
        room(1).put((byte) value);
    }

    public void i16(short value) {
        room(2).putShort(value);
    }

    public void i32(int value) {
        room(4).putInt(value);
    }

    public void i64(long value) {
        room(8).putLong(value);
    }

    public void f32(float value) {
        room(4).putFloat(value);
    }

    public void f64(double value) {
        room(8).putDouble(value);
    }

    public void bytes(byte[] value) {
        room(value.length).put(value);
    }

    public void bytes(byte[] value, int length) {
        room(length).put(value, 0, length);
    }

    /** Position of the next byte. */
    public int position() {
        return buffer.position();
    }

    public void setI32(int position, int value) {
        buffer.putInt(position, value);
    }

    public ByteBuffer done() {
        return ByteBuffer.wrap(buffer.array(), 0, buffer.position());
    }
}
