import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** GET each URL by the client of Java, three seconds apart. */
class Get {
    public static void main(String[] urls) throws Exception {
        var client = HttpClient.newHttpClient();
        for (int index = 0; index < urls.length; index++) {
            if (index > 0) Thread.sleep(3000);
            var request = HttpRequest.newBuilder(URI.create(urls[index])).build();
            client.send(request, BodyHandlers.ofString());
        }
        System.exit(0);
    }
}
