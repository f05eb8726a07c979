// SPDX-License-Identifier: Apache-2.0

/**
 * Does its work 600 calls deep, in DeepRecursion.bottom under 600 frames of DeepRecursion.descend.
 * Run with dontinline for both. Arguments: seconds, percent of a CPU to use (100).
 */
public class DeepRecursion {
	static final int DEPTH = 600;
	static volatile double sink = 1.5;

	static void descend(int left, long endNanos, int percent) throws InterruptedException {
		if (left > 1)
			descend(left - 1, endNanos, percent);
		else
			bottom(endNanos, percent);
		sink += left; // not a tail call
	}

	static void bottom(long endNanos, int percent) throws InterruptedException {
		while (System.nanoTime() < endNanos) {
			long start = System.nanoTime();
			grind();
			long busy = System.nanoTime() - start;
			if (percent < 100)
				Thread.sleep(busy * (100 - percent) / percent / 1_000_000);
		}
	}

	static void grind() {
		double value = sink;
		for (int i = 0; i < 5_000_000; i++)
			value = value * 1.0000001 + 0.5;
		sink = value;
	}

	public static void main(String[] args) throws InterruptedException {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int percent = args.length > 1 ? Integer.parseInt(args[1]) : 100;
		// The way down is walked again and again, so that it is compiled code, not interpreted.
		for (int i = 0; i < 3_000; i++)
			descend(DEPTH, 0, 100);
		while (System.nanoTime() < endNanos)
			descend(DEPTH, Math.min(endNanos, System.nanoTime() + 1_000_000_000L), percent);
	}
}
