// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Two pools that burn CPU in methods of their own, and in one that both share; main only waits, and has the JVM
 * collect now and then. Threads are named as Executors does it: pool-1-thread-1 to -3, pool-2-thread-1.
 * Argument: seconds.
 */
public class Pools {
	static volatile long sink;

	static void shared(int rounds) {
		for (int i = 0; i < rounds; i++)
			sink = sink * 31 + i;
	}

	static void firstPool(long endNanos) {
		while (System.nanoTime() < endNanos) {
			shared(200_000);
			pause();
		}
	}

	static void secondPool(long endNanos) {
		while (System.nanoTime() < endNanos) {
			shared(200_000);
			pause();
		}
	}

	static void pause() {
		try {
			Thread.sleep(1);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	public static void main(String[] args) throws Exception {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		ExecutorService first = Executors.newFixedThreadPool(3);
		ExecutorService second = Executors.newSingleThreadExecutor();
		for (int i = 0; i < 3; i++)
			first.submit(() -> firstPool(endNanos));
		second.submit(() -> secondPool(endNanos));
		Thread named = new Thread(() -> secondPool(endNanos), "order; worker 7");
		named.start();
		System.out.println("READY");
		while (named.isAlive()) {
			named.join(20);
			System.gc();
		}
	}
}
