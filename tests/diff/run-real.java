// SPDX-License-Identifier: Apache-2.0

/**
 * Steady work whose true profile is known, but for one method that needs up to 5 % more for 10 seconds
 * at a time: by the clock on the wall, cycles of 40 seconds have no more, 1 % more, no more, 5 % more.
 * All methods do the same kind of work, so what they cost goes by their number of rounds, and target's
 * share is a tenth. They run in random order, or the sampler's beat with the loop would show. Argument:
 * seconds.
 */
class RunReal {
	static final int PHASE_MS = 10000;
	static final double[] MORE = { 1, 1.01, 1, 1.05 };
	static final int ROUNDS = 200000; /* of all methods in one turn: some 300 microseconds */
	static final double TARGET = 0.1;
	static final int OTHERS = 20;

	static long sink = 1;
	static long random = 88172645463325252L;

	static long target(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }

	static long m00(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m01(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m02(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m03(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m04(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m05(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m06(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m07(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m08(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m09(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m10(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m11(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m12(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m13(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m14(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m15(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m16(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m17(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m18(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }
	static long m19(long x, int n) { for (; n > 0; n--) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } return x; }

	static long other(int i, long x, int n) {
		switch (i) {
		case 0: return m00(x, n);
		case 1: return m01(x, n);
		case 2: return m02(x, n);
		case 3: return m03(x, n);
		case 4: return m04(x, n);
		case 5: return m05(x, n);
		case 6: return m06(x, n);
		case 7: return m07(x, n);
		case 8: return m08(x, n);
		case 9: return m09(x, n);
		case 10: return m10(x, n);
		case 11: return m11(x, n);
		case 12: return m12(x, n);
		case 13: return m13(x, n);
		case 14: return m14(x, n);
		case 15: return m15(x, n);
		case 16: return m16(x, n);
		case 17: return m17(x, n);
		case 18: return m18(x, n);
		case 19: return m19(x, n);
		default: throw new IllegalArgumentException();
		}
	}

	static double more() {
		return MORE[(int) (System.currentTimeMillis() / PHASE_MS % MORE.length)];
	}

	static void shuffle(int[] order) {
		for (int i = order.length - 1; i > 0; i--) {
			random ^= random << 13;
			random ^= random >>> 7;
			random ^= random << 17;

			int at = (int) ((random >>> 1) % (i + 1));
			int swap = order[i];

			order[i] = order[at];
			order[at] = swap;
		}
	}

	static void turn(int[] order, int[] rounds) {
		shuffle(order);
		for (int i : order) {
			if (i == OTHERS)
				sink += target(sink, (int) (ROUNDS * TARGET * more()));
			else
				sink += other(i, sink, rounds[i]);
		}
	}

	public static void main(String[] arguments) throws InterruptedException {
		long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
		int[] rounds = new int[OTHERS];
		int[] order = new int[OTHERS + 1];
		double total = 0;

		for (int i = 0; i <= OTHERS; i++)
			order[i] = i;
		for (int i = 0; i < OTHERS; i++)
			total += 1.0 / (i + 4);
		for (int i = 0; i < OTHERS; i++)
			rounds[i] = (int) (ROUNDS * (1 - TARGET) / (i + 4) / total);
		while (System.nanoTime() < end) {
			for (int i = 0; i < 8; i++)
				turn(order, rounds);
			Thread.sleep(3);
		}
	}
}
