package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;

/** A method that the other side may call by its name. The payload is little-endian. */
@FunctionalInterface
public interface Method {
    Reply call(Session session, JsonNode args, ByteBuffer payload) throws Exception;
}
