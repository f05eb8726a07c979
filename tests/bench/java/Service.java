// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import java.util.zip.*;
/** A small HTTP service and its clients in one JVM: documents parsed, sorted, compressed, cached. */
public class Service {
    static final Map<String, Map<String, Object>> cache = new ConcurrentHashMap<>();
    static final Pattern PAIR = Pattern.compile("\"(\\w+)\":(\\d+|\"[^\"]*\")");
    static Map<String, Object> parse(String s) {
        Map<String, Object> m = new TreeMap<>();
        Matcher x = PAIR.matcher(s);
        while (x.find()) m.put(x.group(1), Character.isDigit(x.group(2).charAt(0)) ? (Object) Long.valueOf(x.group(2)) : x.group(2));
        return m;
    }
    static String print(Map<String, Object> m) {
        StringBuilder b = new StringBuilder("{");
        for (Map.Entry<String, Object> e : m.entrySet()) b.append('"').append(e.getKey()).append("\":").append(e.getValue()).append(',');
        return b.append('}').toString();
    }
    static byte[] zip(byte[] in) throws IOException {
        ByteArrayOutputStream o = new ByteArrayOutputStream();
        try (GZIPOutputStream g = new GZIPOutputStream(o)) { g.write(in); }
        return o.toByteArray();
    }
    static void reply(HttpExchange x, byte[] b) throws IOException {
        x.sendResponseHeaders(200, b.length);
        try (OutputStream o = x.getResponseBody()) { o.write(b); }
    }
    public static void main(String[] a) throws Exception {
        HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        s.createContext("/put", x -> { Map<String, Object> m = parse(new String(x.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)); cache.put(String.valueOf(m.get("id")), m); if (cache.size() > 5000) cache.clear(); reply(x, "ok".getBytes()); });
        s.createContext("/get", x -> { StringBuilder b = new StringBuilder(); int n = 0; for (Map<String, Object> m : cache.values()) { if (n++ > 30) break; b.append(print(m)); } reply(x, zip(b.toString().getBytes())); });
        s.createContext("/top", x -> { List<Map<String, Object>> l = new ArrayList<>(cache.values()); l.sort(Comparator.comparing(m -> String.valueOf(m.get("name")))); reply(x, print(l.isEmpty() ? Map.of() : l.get(0)).getBytes()); });
        s.setExecutor(Executors.newFixedThreadPool(4));
        s.start();
        URI base = URI.create("http://127.0.0.1:" + s.getAddress().getPort());
        for (int t = 0; t < 2; t++) {
            int seed = t;
            new Thread(() -> {
                Random r = new Random(seed);
                HttpClient c = HttpClient.newHttpClient();
                try {
                    for (;;) {
                        StringBuilder b = new StringBuilder("{\"id\":" + r.nextInt(20000));
                        for (int i = 0; i < 40; i++) b.append(",\"f" + i + "\":" + (r.nextBoolean() ? "" + r.nextInt(1000) : "\"v" + r.nextInt(1000) + "\""));
                        b.append(",\"name\":\"n" + r.nextInt(100) + "\"}");
                        c.send(HttpRequest.newBuilder(base.resolve("/put")).POST(HttpRequest.BodyPublishers.ofString(b.toString())).build(), HttpResponse.BodyHandlers.ofString());
                        if (r.nextInt(4) == 0) c.send(HttpRequest.newBuilder(base.resolve("/get")).build(), HttpResponse.BodyHandlers.ofByteArray());
                        if (r.nextInt(40) == 0) c.send(HttpRequest.newBuilder(base.resolve("/top")).build(), HttpResponse.BodyHandlers.ofByteArray());
                        if (r.nextInt(3) == 0) Thread.sleep(r.nextInt(5));
                    }
                } catch (Exception e) { e.printStackTrace(); System.exit(1); }
            }).start();
        }
    }
}
