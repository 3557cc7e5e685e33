package penstock.host.tasks;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

/** Finds out which methods of Connect's a plugin's class overrides: an empty one need not be called. */
final class Overrides {
    private static final int RETURN = 0xb1;

    private Overrides() {}

    /** Return whether {@code type} overrides a method of {@code base} with a body that is not empty. */
    static boolean one(Class<?> type, Class<?> base, String name, Class<?>... parameters) throws Exception {
        Method method = type.getMethod(name, parameters);
        return method.getDeclaringClass() != base && !isEmpty(method);
    }

    /** Return whether a method is known to do nothing but return. */
    private static boolean isEmpty(Method method) {
        if (method.getReturnType() != void.class) {
            return false;
        }
        Class<?> owner = method.getDeclaringClass();
        String descriptor = MethodType.methodType(void.class, method.getParameterTypes()).toMethodDescriptorString();
        try (InputStream file = owner.getResourceAsStream('/' + owner.getName().replace('.', '/') + ".class")) {
            return file != null && isEmpty(new DataInputStream(file), method.getName(), descriptor);
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    /** The class file up to the method's code (chapter 4 of the JVM's specification). */
    private static boolean isEmpty(DataInputStream file, String name, String descriptor) throws IOException {
        file.skipNBytes(8);
        String[] texts = constants(file);
        file.skipNBytes(6);
        file.skipNBytes(2L * file.readUnsignedShort());
        for (int fields = file.readUnsignedShort(); fields > 0; fields--) {
            file.skipNBytes(6);
            skipAttributes(file);
        }
        for (int methods = file.readUnsignedShort(); methods > 0; methods--) {
            file.skipNBytes(2);
            String found = texts[file.readUnsignedShort()];
            if (descriptor.equals(texts[file.readUnsignedShort()]) && name.equals(found)) {
                return hasEmptyCode(file, texts);
            }
            skipAttributes(file);
        }
        return false;
    }

    /** Read the constants of a class that are text, by number. */
    private static String[] constants(DataInputStream file) throws IOException {
        String[] texts = new String[file.readUnsignedShort()];
        for (int i = 1; i < texts.length; i++) {
            int tag = file.readUnsignedByte();
            switch (tag) {
                case 1 -> texts[i] = file.readUTF();
                case 3, 4, 9, 10, 11, 12, 17, 18 -> file.skipNBytes(4);
                case 5, 6 -> {
                    file.skipNBytes(8);
                    i++; // they count twice
                }
                case 7, 8, 16, 19, 20 -> file.skipNBytes(2);
                case 15 -> file.skipNBytes(3);
                default -> throw new IOException("A constant of kind " + tag);
            }
        }
        return texts;
    }

    private static boolean hasEmptyCode(DataInputStream file, String[] texts) throws IOException {
        for (int attributes = file.readUnsignedShort(); attributes > 0; attributes--) {
            boolean code = "Code".equals(texts[file.readUnsignedShort()]);
            long length = Integer.toUnsignedLong(file.readInt());
            if (code) {
                file.skipNBytes(4);
                return file.readInt() == 1 && file.readUnsignedByte() == RETURN;
            }
            file.skipNBytes(length);
        }
        return false;
    }

    private static void skipAttributes(DataInputStream file) throws IOException {
        for (int attributes = file.readUnsignedShort(); attributes > 0; attributes--) {
            file.skipNBytes(2);
            file.skipNBytes(Integer.toUnsignedLong(file.readInt()));
        }
    }
}
