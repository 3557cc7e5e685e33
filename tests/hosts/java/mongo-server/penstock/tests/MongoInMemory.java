package penstock.tests;

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

import org.bson.Document;

/**
 * A server with MongoDB's protocol that keeps everything in memory. It says its address, and for each line of its
 * input, the name of a collection, the documents of that collection and a line with a dot. It ends with its input.
 */
public final class MongoInMemory {
    private MongoInMemory() {}

    public static void main(String[] args) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend());
        String address = server.bindAndGetConnectionString();
        System.out.println(address);
        try (MongoClient client = MongoClients.create(address);
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String name = in.readLine(); name != null; name = in.readLine()) {
                for (Document each : client.getDatabase("test").getCollection(name).find()) {
                    System.out.println(each.toJson());
                }
                System.out.println(".");
            }
        } finally {
            server.shutdownNow();
        }
    }
}
