package penstock.delta;

import io.delta.storage.CloseableIterator;
import io.delta.storage.HadoopFileSystemLogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import java.util.List;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in S3, whose entries are written by conditional PUTs: of several writers of one version, in any number of
 * processes, one succeeds.
 */
public final class S3LogStore extends HadoopFileSystemLogStore {
    private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";

    public S3LogStore(Configuration configuration) {
        super(configuration);
    }

    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration)
            throws IOException {
        FileSystem files = path.getFileSystem(configuration);
        List<String> lines = new ArrayList<>();
        actions.forEachRemaining(lines::add);
        if (overwrite) {
            fill(files.create(path, true), lines);
            return;
        }
        if (!files.hasPathCapability(path, CONDITIONAL)) {
            throw new IOException(path + ": this Hadoop can't create an object only if there is none");
        }
        if (files.exists(path)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        try {
            FSDataOutputStreamBuilder<?, ?> builder = files.createFile(path);
            builder.overwrite(true);
            builder.recursive();
            builder.must(CONDITIONAL, true);
            fill(builder.build(), lines);
        } catch (IOException failure) {
            // The request may have succeeded, and only its answer been lost.
            if (lines.equals(written(path, configuration, failure))) {
                return;
            }
            FileAlreadyExistsException exists = new FileAlreadyExistsException(path.toString());
            exists.initCause(failure);
            throw exists;
        }
    }

    @Override
    public Boolean isPartialWriteVisible(Path path, Configuration configuration) {
        return false;
    }

    private static void fill(FSDataOutputStream stream, List<String> lines) throws IOException {
        try (stream) {
            for (String line : lines) {
                stream.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    /** Returns the lines that are there. Throws the failure of the write if there are none, or they can't be read. */
    private List<String> written(Path path, Configuration configuration, IOException failure) throws IOException {
        List<String> lines = new ArrayList<>();
        try (CloseableIterator<String> found = read(path, configuration)) {
            found.forEachRemaining(lines::add);
        } catch (FileNotFoundException missing) {
            throw failure;
        } catch (IOException | RuntimeException unreadable) {
            failure.addSuppressed(unreadable);
            throw failure;
        }
        return lines;
    }
}
