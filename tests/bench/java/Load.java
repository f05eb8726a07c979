// SPDX-License-Identifier: Apache-2.0
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
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
 *
 * Arguments: THREADS DUTY [DEPTH [COUNTERS [SEED]]]. Each operation is done below DEPTH more frames (keep
 * the JIT from inlining Load.deep*). COUNTERS: a file of 64 bytes per thread that gets the number of its
 * operations, big endian, at the beginning of each.
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

    /* Four methods by turns: as deep stacks of one method would compress too well. */
    static long deep0(Work work, Random random, int left) { return left <= 0 ? work.run(random) : deep1(work, random, left - 1) + 1; }

    static long deep1(Work work, Random random, int left) { return left <= 0 ? work.run(random) : deep2(work, random, left - 1) + 1; }

    static long deep2(Work work, Random random, int left) { return left <= 0 ? work.run(random) : deep3(work, random, left - 1) + 1; }

    static long deep3(Work work, Random random, int left) { return left <= 0 ? work.run(random) : deep0(work, random, left - 1) + 1; }

    static final int COUNTER_STRIDE = 64;

    static MappedByteBuffer counters(String path, int threads) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            return file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, (long) threads * COUNTER_STRIDE);
        }
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        int duty = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        int depth = args.length > 2 ? Integer.parseInt(args[2]) : 0;
        MappedByteBuffer counters = args.length > 3 ? counters(args[3], threads) : null;
        long firstSeed = args.length > 4 ? Long.parseLong(args[4]) * 1000 : 0;
        Work[] works = {Load::words, Load::streams, Load::regex, Load::deflate, Load::sort,
            r -> descend(r, 12)};
        for (int t = 0; t < threads; t++) {
            final long seed = firstSeed + t;
            final int slot = t * COUNTER_STRIDE;
            new Thread(() -> {
                Random random = new Random(seed);
                long sum = 0;
                long operations = 0;
                for (;;) {
                    long begin = System.nanoTime();
                    sum += deep0(works[random.nextInt(works.length)], random, depth);
                    if (counters != null) {
                        counters.putLong(slot, ++operations);
                    }
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
