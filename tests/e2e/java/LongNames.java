// SPDX-License-Identifier: Apache-2.0

/**
 * Threads with names longer than the 15 bytes that the kernel keeps, which burn CPU in methods of their own:
 * three of a pool, one alone, and two whose first 15 bytes are the same though they are not of one pool.
 * Argument: seconds.
 */
public class LongNames {
	static volatile long sink;

	static void burn(long endNanos) {
		while (System.nanoTime() < endNanos) {
			for (int i = 0; i < 200_000; i++)
				sink = sink * 31 + i;
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

	static void pooled(long endNanos) {
		burn(endNanos);
	}

	static void alone(long endNanos) {
		burn(endNanos);
	}

	static void reads(long endNanos) {
		burn(endNanos);
	}

	static void writes(long endNanos) {
		burn(endNanos);
	}

	public static void main(String[] args) throws Exception {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		for (int i = 1; i <= 3; i++)
			new Thread(() -> pooled(endNanos), "http-nio-8080-exec-" + i).start();
		new Thread(() -> alone(endNanos), "\u00e9v\u00e9nements-du-jour").start();
		new Thread(() -> reads(endNanos), "order-processor-reads").start();
		new Thread(() -> writes(endNanos), "order-processor-writes").start();
		System.out.println("READY");
		while (System.nanoTime() < endNanos) {
			Thread.sleep(20);
			System.gc();
		}
	}
}
