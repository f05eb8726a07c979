// SPDX-License-Identifier: Apache-2.0
import java.util.*;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * A service-like load for measurements: parsing, collections, streams, regular expressions,
 * compression, recursion, so that profiles have some hundred distinct stacks. Runs for ever on
 * THREADS threads, each busy for DUTY percent of the time.
 */
public class Load {
    interface Work { long run(Random random); }

    static long words(Random random) {
        Map<String, Integer> counts = new TreeMap<>();
        for (int i = 0; i < 400; i++) {
            counts.merge("word" + random.nextInt(90), 1, Integer::sum);
        }
        return counts.values().stream().mapToLong(Integer::longValue).sum();
    }

    static long streams(Random random) {
        List<String> names = IntStream.range(0, 300).mapToObj(i -> "n" + random.nextInt(1000))
            .collect(Collectors.toList());
        return names.stream().filter(n -> n.length() > 3).map(String::hashCode).sorted()
            .collect(Collectors.groupingBy(h -> h & 7, Collectors.counting())).size();
    }

    static final Pattern PATTERN = Pattern.compile("([a-z]+)=([0-9]+);");

    static long regex(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 60; i++) {
            text.append("key").append((char) ('a' + random.nextInt(26))).append('=').append(random.nextInt()).append(';');
        }
        java.util.regex.Matcher matcher = PATTERN.matcher(text);
        long hits = 0;
        while (matcher.find()) {
            hits += matcher.group(1).length();
        }
        return hits;
    }

    static long deflate(Random random) {
        byte[] in = new byte[8192];
        byte[] out = new byte[8192];
        for (int i = 0; i < in.length; i++) {
            in[i] = (byte) random.nextInt(12);
        }
        Deflater deflater = new Deflater(6);
        deflater.setInput(in);
        deflater.finish();
        long size = deflater.deflate(out);
        deflater.end();
        CRC32 crc = new CRC32();
        crc.update(out, 0, (int) size);
        return crc.getValue();
    }

    static long descend(Random random, int depth) {
        if (depth == 0) {
            return words(random);
        }
        return random.nextBoolean() ? left(random, depth - 1) : right(random, depth - 1);
    }

    static long left(Random random, int depth) { return descend(random, depth) + 1; }

    static long right(Random random, int depth) { return descend(random, depth) + 2; }

    static long sort(Random random) {
        List<String> list = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            list.add(Integer.toString(random.nextInt(), 36));
        }
        list.sort(Comparator.comparing(String::length).thenComparing(Comparator.naturalOrder()));
        return list.get(0).hashCode();
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        int duty = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        Work[] works = {Load::words, Load::streams, Load::regex, Load::deflate, Load::sort,
            r -> descend(r, 12)};
        for (int t = 0; t < threads; t++) {
            final int seed = t;
            new Thread(() -> {
                Random random = new Random(seed);
                long sum = 0;
                for (;;) {
                    long begin = System.nanoTime();
                    sum += works[random.nextInt(works.length)].run(random);
                    if (duty < 100) {
                        long busy = System.nanoTime() - begin;
                        try {
                            Thread.sleep(Math.max(1, busy * (100 - duty) / duty / 1_000_000));
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                    if (sum == 42) {
                        System.out.println(sum);
                    }
                }
            }, "load-" + t).start();
        }
    }
}
