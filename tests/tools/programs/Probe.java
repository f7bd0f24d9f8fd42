// A server and a client of the JDK, with threads.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.Executors;

class Probe {
    static byte[] fetch() {
        try (var stream = URI.create("http://h2:7000/").toURL().openStream()) {
            return stream.readAllBytes();
        } catch (java.io.IOException error) {
            throw new RuntimeException(error);
        }
    }

    public static void main(String[] words) throws Exception {
        if (words.length > 0) {
            var server = HttpServer.create(new InetSocketAddress(7000), 16);
            server.createContext("/", exchange -> {
                exchange.sendResponseHeaders(200, 20000);
                exchange.getResponseBody().write(new byte[20000]);
                exchange.close();
            });
            server.setExecutor(Executors.newFixedThreadPool(4));
            server.start();
            return;
        }
        long begun = System.nanoTime();
        try (var pool = new AutoPool()) {
            for (int i = 0; i < 8; i++) pool.threads.submit(Probe::fetch);
        }
        System.out.printf("8 pages in %.6f s%n", (System.nanoTime() - begun) / 1e9);
    }

    static class AutoPool implements AutoCloseable {
        final java.util.concurrent.ExecutorService threads = Executors.newFixedThreadPool(8);

        public void close() throws InterruptedException {
            threads.shutdown();
            boolean ended = threads.awaitTermination(60, java.util.concurrent.TimeUnit.SECONDS);
            if (!ended) throw new RuntimeException();
        }
    }
}
