package penstock.host.plugins;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.CodeSigner;
import java.security.CodeSource;
import java.util.Enumeration;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoader;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;

/**
 * The loader of a location whose classes refer to classes of Kafka by names that the class path lacks.
 *
 * <p>Only such locations have it ({@link #isNeeded}): all others are loaded by Java Connect's loader as it is.
 */
final class RewritingLoader extends PluginClassLoader {
    private static final String CLASS = ".class";
    private final MovedClasses moved;

    static {
        registerAsParallelCapable();
    }

    RewritingLoader(URL location, URL[] urls, ClassLoader parent, MovedClasses moved) {
        super(location, urls, parent);
        this.moved = moved;
    }

    /** Whether a class that is loaded from these jars and folders has a name to replace. {@code all}: of the host. */
    static boolean isNeeded(URL[] urls, MovedClasses all) throws IOException {
        MovedClasses moved = all.without(urls);
        for (URL url : urls) {
            Path path;
            try {
                path = Path.of(url.toURI());
            } catch (java.net.URISyntaxException | IllegalArgumentException | java.nio.file.FileSystemNotFoundException e) {
                continue;
            }
            if (Files.isDirectory(path) ? isNeededInFolder(path, moved) : isNeededInArchive(path, moved)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isNeededInArchive(Path path, MovedClasses moved) {
        try (ZipFile archive = new ZipFile(path.toFile())) {
            for (Enumeration<? extends ZipEntry> all = archive.entries(); all.hasMoreElements();) {
                ZipEntry entry = all.nextElement();
                if (isLoadedFromHere(entry.getName())) {
                    try (InputStream in = archive.getInputStream(entry)) {
                        if (isChanged(in.readAllBytes(), moved)) {
                            return true;
                        }
                    }
                }
            }
        } catch (IOException damaged) {
            return false; // the scanners say so
        }
        return false;
    }

    private static boolean isNeededInFolder(Path folder, MovedClasses moved) throws IOException {
        boolean[] found = {false};
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (isLoadedFromHere(folder.relativize(file).toString()) && isChanged(Files.readAllBytes(file), moved)) {
                    found[0] = true;
                    return FileVisitResult.TERMINATE;
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException unreadable) {
                return FileVisitResult.CONTINUE;
            }
        });
        return found[0];
    }

    private static boolean isChanged(byte[] file, MovedClasses moved) {
        return moved.rewritten(file) != file;
    }

    private static boolean isLoadedFromHere(String entry) {
        return entry.endsWith(CLASS)
            && PluginUtils.shouldLoadInIsolation(
                entry.substring(0, entry.length() - CLASS.length()).replace('/', '.'));
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        String here = moved.nameHere(name);
        return super.loadClass(here == null ? name : here, resolve);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        URL url = findResource(name.replace('.', '/') + CLASS);
        if (url == null) {
            throw new ClassNotFoundException(name);
        }
        try {
            URLConnection connection = url.openConnection();
            byte[] file;
            try (InputStream in = connection.getInputStream()) {
                file = in.readAllBytes();
            }
            byte[] changed = moved.rewritten(file);
            return changed == file ? super.findClass(name) : define(name, changed, url, connection);
        } catch (IOException error) {
            throw new ClassNotFoundException(name, error);
        }
    }

    private Class<?> define(String name, byte[] file, URL url, URLConnection connection) throws IOException {
        URL source = url;
        Manifest manifest = null;
        CodeSigner[] signers = null;
        if (connection instanceof JarURLConnection jar) {
            source = jar.getJarFileURL();
            manifest = jar.getManifest();
            signers = jar.getJarEntry().getCodeSigners();
        } else {
            source = folderOf(name, url);
        }
        int end = name.lastIndexOf('.');
        String folder = end < 0 ? "" : name.substring(0, end);
        if (!folder.isEmpty() && getDefinedPackage(folder) == null) {
            try {
                definePackage(folder, manifest == null ? new Manifest() : manifest, source);
            } catch (IllegalArgumentException defined) {
                // by another thread meanwhile
            }
        }
        return defineClass(name, file, 0, file.length, new CodeSource(source, signers));
    }

    /** The folder of the location that has the file of this class, as the other loader names it. */
    private static URL folderOf(String name, URL file) throws IOException {
        int packages = (int) name.chars().filter(each -> each == '.').count();
        return new URL(file, packages == 0 ? "." : "../".repeat(packages));
    }
}
