"""A program in Java that prints a page, for tests of what Java needs to reach the emulated web."""

PRINT_PAGE = """
import java.net.URI;
import java.net.http.*;
public class Get {
    public static void main(String[] arguments) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""
