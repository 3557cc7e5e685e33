package penstock.jdbc;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.Serializable;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** Where the driver keeps texts that are in no closure; as penstock/spark/query/safe.py. */
final class Reference implements Serializable {
    private static final int MILLISECONDS = 10_000;
    private static final int ATTEMPTS = 3;

    private final String host;
    private final int port;
    private final byte[] fingerprint;
    private final byte[] key;

    Reference(String host, int port, String fingerprint, String key) {
        this.host = host;
        this.port = port;
        this.fingerprint = HexFormat.of().parseHex(fingerprint);
        this.key = HexFormat.of().parseHex(key);
    }

    /** Its identity: two copies have the same. */
    String name() {
        return HexFormat.of().formatHex(key);
    }

    /** Whether the driver still knows this; null if it does not answer. */
    Boolean knows(int milliseconds) {
        try {
            fetched(milliseconds);
            return true;
        } catch (ConnectException closed) {
            return false;
        } catch (IOException error) {
            return error.getCause() instanceof EOFException ? false : null;
        }
    }

    List<String> texts() throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                return fetched(MILLISECONDS);
            } catch (IOException error) {
                if (attempt >= ATTEMPTS) throw error;
            }
        }
    }

    private List<String> fetched(int milliseconds) throws IOException {
        try (Socket plain = new Socket()) {
            plain.connect(new InetSocketAddress(host, port), milliseconds);
            plain.setSoTimeout(milliseconds);
            try (SSLSocket socket = (SSLSocket) context().getSocketFactory().createSocket(plain, host, port, true)) {
                socket.getOutputStream().write(key);
                DataInputStream in = new DataInputStream(socket.getInputStream());
                in.readInt();
                List<String> found = new ArrayList<>();
                for (int left = in.readInt(); left > 0; left--) {
                    byte[] text = in.readNBytes(in.readInt());
                    found.add(new String(text, StandardCharsets.UTF_8));
                }
                return found;
            } catch (EOFException end) {
                throw new IOException("The driver of this query does not know this task (any more)", end);
            }
        }
    }

    private SSLContext context() throws IOException {
        try {
            SSLContext made = SSLContext.getInstance("TLSv1.3");
            made.init(null, new TrustManager[] {new Pinned(fingerprint)}, new SecureRandom());
            return made;
        } catch (GeneralSecurityException error) {
            throw new IOException(error);
        }
    }

    /** Trusts the one certificate with this fingerprint. */
    private static final class Pinned extends X509ExtendedTrustManager {
        private final byte[] fingerprint;

        Pinned(byte[] fingerprint) {
            this.fingerprint = fingerprint;
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            try {
                byte[] found = MessageDigest.getInstance("SHA-256").digest(chain[0].getEncoded());
                if (MessageDigest.isEqual(found, fingerprint)) return;
            } catch (GeneralSecurityException error) {
                throw new CertificateException(error);
            }
            throw new CertificateException("another certificate than that of the query's driver");
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            checkServerTrusted(chain, type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            checkServerTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("there are no clients here");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            checkClientTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            checkClientTrusted(chain, type);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
