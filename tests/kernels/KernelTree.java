// SPDX-License-Identifier: Apache-2.0

/**
 * A known tree of methods that needs java.base only: each stack is main, trunk, then either left and
 * leftLeaf, or climb, right-most, 40 times below itself and rightLeaf. Run with dontinline for all.
 * Prints READY when everything was called often enough to be compiled. Argument: seconds.
 */
public class KernelTree {
	static final int DEPTH = 40;
	static volatile double sink = 1.5;

	static void leftLeaf(int rounds) {
		double value = sink;
		for (int i = 0; i < rounds; i++)
			value = value * 1.0000001 + 0.5;
		sink = value;
	}

	static void rightLeaf(int rounds) {
		double value = sink;
		for (int i = 0; i < rounds; i++)
			value = value * 0.9999999 + 0.25;
		sink = value;
	}

	static void left(int rounds) {
		leftLeaf(rounds);
		sink += 1; // not a tail call
	}

	static void climb(int left, int rounds) {
		if (left > 1)
			climb(left - 1, rounds);
		else
			rightLeaf(rounds);
		sink += left;
	}

	static void trunk(int rounds) {
		left(rounds);
		climb(DEPTH, rounds);
		sink += 1;
	}

	public static void main(String[] args) {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		for (int i = 0; i < 1_000; i++)
			trunk(10);
		System.out.println("READY");
		while (System.nanoTime() < endNanos)
			trunk(100_000);
	}
}
