package penstock.host.plugins;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Classes of Kafka that another version has under another name, and what to call them here.
 *
 * <p>{@code moved-classes.txt} beside this file, which {@code scripts/moved_classes.py} writes, lists the names. Of
 * each pair, the name that the class path lacks is replaced by the one that it has, so the same list serves plugins of
 * older and of newer versions. References are replaced in the constant pool of a class: names of classes, descriptors,
 * signatures, and texts that are nothing but such a name. A name stays where a location brings that class itself.
 */
final class MovedClasses {
    private static final String LIST = "moved-classes.txt";
    private static final String KAFKA = "org/apache/kafka/";
    private static final String KAFKA_IN_TEXTS = "org.apache.kafka.";
    private static final int MAGIC = 0xCAFEBABE;
    private static final int MAX_UTF8 = 65535;
    private static final byte UTF8 = 1;

    private final Map<String, String> renamed = new HashMap<>();

    /** {@code loader}: of the class path. */
    MovedClasses(ClassLoader loader) {
        try (InputStream list = MovedClasses.class.getResourceAsStream(LIST);
            BufferedReader lines = new BufferedReader(new InputStreamReader(list, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.isBlank() && !line.startsWith("#")) {
                    add(line.split(" "), loader);
                }
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private MovedClasses(Map<String, String> renamed) {
        this.renamed.putAll(renamed);
    }

    /** Return those that a location does not bring itself; {@code urls}: its jars and folders. */
    MovedClasses without(URL[] urls) {
        MovedClasses left = new MovedClasses(renamed);
        try (URLClassLoader location = new URLClassLoader(urls, null)) {
            left.renamed.keySet().removeIf(name -> isIn(location, name) || isIn(location, outer(name)));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return left;
    }

    private static boolean isIn(URLClassLoader location, String name) {
        return location.findResource(name + ".class") != null;
    }

    private static String outer(String name) {
        int nested = name.indexOf('$');
        return nested < 0 ? name : name.substring(0, nested);
    }

    private void add(String[] words, ClassLoader loader) {
        String older = words[0];
        String newer = words[2];
        boolean hasOlder = loader.getResource(older + ".class") != null;
        boolean hasNewer = loader.getResource(newer + ".class") != null;
        if (hasNewer && !hasOlder) {
            renamed.put(older, newer);
        } else if (hasOlder && !hasNewer && words[1].equals("=")) {
            renamed.put(newer, older);
        }
    }

    /** The name that a class has here; null if it has the same, or none. Names have dots. */
    String nameHere(String name) {
        if (!name.startsWith(KAFKA_IN_TEXTS)) {
            return null;
        }
        String found = target(name.replace('.', '/'));
        return found == null ? null : found.replace('/', '.');
    }

    /** The class file with names replaced; the same array if it has none of them, or is damaged. */
    byte[] rewritten(byte[] file) {
        String all = new String(file, StandardCharsets.ISO_8859_1);
        if (!all.contains(KAFKA) && !all.contains(KAFKA_IN_TEXTS)) {
            return file;
        }
        try {
            return rewrittenPool(file);
        } catch (RuntimeException | IOException damaged) {
            return file; // the JVM says what is wrong
        }
    }

    private byte[] rewrittenPool(byte[] file) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(file);
        if (in.getInt() != MAGIC) {
            return file;
        }
        in.position(8);
        int count = Short.toUnsignedInt(in.getShort());
        ByteArrayOutputStream out = null;
        int copied = 0;
        for (int index = 1; index < count; index++) {
            int start = in.position();
            byte tag = in.get();
            if (tag == UTF8) {
                int length = Short.toUnsignedInt(in.getShort());
                String changed = changed(new String(file, in.position(), length, StandardCharsets.ISO_8859_1));
                in.position(in.position() + length);
                if (changed != null && changed.length() <= MAX_UTF8) {
                    out = out == null ? new ByteArrayOutputStream(file.length + 256) : out;
                    out.write(file, copied, start - copied);
                    DataOutputStream entry = new DataOutputStream(out);
                    entry.writeByte(UTF8);
                    entry.writeShort(changed.length());
                    entry.write(changed.getBytes(StandardCharsets.ISO_8859_1));
                    copied = in.position();
                }
            } else {
                in.position(start + sizeOf(tag));
                index += tag == 5 || tag == 6 ? 1 : 0; // a long or double takes two places
            }
        }
        if (out == null) {
            return file;
        }
        out.write(file, copied, file.length - copied);
        return out.toByteArray();
    }

    private static int sizeOf(byte tag) {
        return switch (tag) {
            case 7, 8, 16, 19, 20 -> 3;
            case 15 -> 4;
            case 3, 4, 9, 10, 11, 12, 17, 18 -> 5;
            case 5, 6 -> 9;
            default -> throw new IllegalArgumentException("tag " + tag);
        };
    }

    /** An entry of a constant pool, one character for each byte, with names replaced; null if it has none. */
    private String changed(String text) {
        if (text.startsWith(KAFKA_IN_TEXTS)) {
            return nameHere(text);
        }
        StringBuilder made = null;
        int copied = 0;
        for (int at = text.indexOf(KAFKA); at >= 0; at = text.indexOf(KAFKA, at + 1)) {
            if (at == 0 || text.charAt(at - 1) == 'L') {
                int end = endOf(text, at);
                String target = target(text.substring(at, end));
                if (target != null) {
                    made = made == null ? new StringBuilder() : made;
                    made.append(text, copied, at).append(target);
                    copied = end;
                }
            }
        }
        return made == null ? null : made.append(text, copied, text.length()).toString();
    }

    private static int endOf(String text, int start) {
        int end = start;
        while (end < text.length() && ";<.:>[( )".indexOf(text.charAt(end)) < 0) {
            end++;
        }
        return end;
    }

    /** A nested class that the list lacks is where the class is that it is nested in. */
    private String target(String name) {
        String found = renamed.get(name);
        int nested = name.indexOf('$');
        if (found != null || nested < 0) {
            return found;
        }
        String outer = renamed.get(name.substring(0, nested));
        return outer == null ? null : outer + name.substring(nested);
    }
}
