// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A load like a service's: two threads answer requests of five kinds through an interface, with
 * collections, strings, regular expressions, lambdas, some I/O, and garbage. Prints "WARM" when
 * the warm-up is over, and once a second "ALIVE" and the requests answered.
 * Arguments: seconds, percent of a CPU for each thread (100), CPU seconds of warm-up of each (5):
 * as fast as may be, so that it is the same work on a busy host.
 */
public class Mixed {
	interface Handler {
		long handle(Random random) throws IOException;
	}

	static class Collecting implements Handler {
		private final Map<Integer, List<Integer>> table = new HashMap<>();

		@Override
		public long handle(Random random) {
			for (int i = 0; i < 200; i++)
				table.computeIfAbsent(random.nextInt(500), key -> new ArrayList<>()).add(i);
			Map<Integer, Integer> sorted = new TreeMap<>();
			for (Map.Entry<Integer, List<Integer>> entry : table.entrySet())
				sorted.put(entry.getKey(), entry.getValue().size());
			if (table.size() > 400)
				table.clear();
			return sorted.size();
		}
	}

	static class Writing implements Handler {
		@Override
		public long handle(Random random) {
			StringBuilder text = new StringBuilder();
			for (int i = 0; i < 100; i++)
				text.append("user=").append(random.nextInt(1000)).append(';');
			long total = 0;
			for (String part : text.toString().split(";"))
				total += part.toUpperCase().hashCode();
			return total;
		}
	}

	static class Matching implements Handler {
		private static final Pattern PATTERN = Pattern.compile("(\\w+)=(\\d+)(?:,|$)");

		@Override
		public long handle(Random random) {
			String text = "alpha=" + random.nextInt(99) + ",beta=" + random.nextInt() + ",gamma=7";
			Matcher matcher = PATTERN.matcher(text);
			long total = 0;
			while (matcher.find())
				total += matcher.group(1).length() + matcher.group(2).length();
			return total;
		}
	}

	static class Streaming implements Handler {
		@Override
		public long handle(Random random) {
			List<Integer> numbers = new ArrayList<>();
			for (int i = 0; i < 300; i++)
				numbers.add(random.nextInt(1000));
			List<String> names = numbers.stream().filter(n -> n % 3 == 0).map(n -> "n" + n)
				.sorted().collect(Collectors.toList());
			Collections.shuffle(numbers, random);
			return names.size() + numbers.stream().mapToLong(Integer::longValue).sum();
		}
	}

	static class Copying implements Handler {
		private final ByteBuffer piece = ByteBuffer.allocateDirect(16 << 10);

		@Override
		public long handle(Random random) throws IOException {
			ByteArrayOutputStream bytes = new ByteArrayOutputStream();
			try (DataOutputStream out = new DataOutputStream(bytes)) {
				for (int i = 0; i < 100; i++)
					out.writeLong(random.nextLong());
			}
			try (FileChannel zero = FileChannel.open(Paths.get("/dev/zero"), StandardOpenOption.READ)) {
				piece.clear();
				return bytes.size() + zero.read(piece);
			}
		}
	}

	static final int BATCH = 2000; // some 30 ms: pauses are long and few
	static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
	static volatile int percent = 100;
	static final AtomicLong answered = new AtomicLong();
	static volatile long sink;

	static void serve(long endNanos, long seed) {
		Handler[] handlers = { new Collecting(), new Writing(), new Matching(), new Streaming(),
			new Copying() };
		Random random = new Random(seed);
		try {
			while (System.nanoTime() < endNanos) {
				long start = System.nanoTime();
				for (int i = 0; i < BATCH; i++)
					sink += handlers[random.nextInt(handlers.length)].handle(random);
				answered.addAndGet(BATCH);
				long busy = System.nanoTime() - start;
				// Always, so that no code is compiled anew when the warm-up ends.
				Thread.sleep(busy * (100 - percent) / percent / 1_000_000);
			}
		} catch (IOException | InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws InterruptedException {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int percentWarm = args.length > 1 ? Integer.parseInt(args[1]) : 100;
		long warmNanos = (args.length > 2 ? Long.parseLong(args[2]) : 5) * 1_000_000_000L;
		Thread[] servers = new Thread[2];
		for (int i = 0; i < servers.length; i++) {
			long seed = i;
			servers[i] = new Thread(() -> serve(endNanos, seed), "server-" + i);
			servers[i].start();
		}
		boolean isWarm = false;
		while (System.nanoTime() < endNanos) {
			Thread.sleep(1000);
			if (!isWarm && Arrays.stream(servers).allMatch(one -> THREADS.getThreadCpuTime(one.getId()) >= warmNanos)) {
				isWarm = true;
				percent = percentWarm;
				System.out.println("WARM");
			}
			System.out.println("ALIVE " + answered.get());
		}
	}
}
