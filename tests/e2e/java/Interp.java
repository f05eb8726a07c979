// SPDX-License-Identifier: Apache-2.0

/**
 * A known chain of methods for a JVM that only interprets (-Xint): Interp.main, work, one to six,
 * then grind. One of them is reached through an interface, one is a constructor, one synchronized.
 * Prints "READY". Arguments: seconds, percent of a CPU to use (100).
 */
public class Interp {
	interface Step {
		double go(double value);
	}

	static class Three implements Step {
		private final double offset;

		Three(double offset) {
			this.offset = four(offset);
		}

		@Override
		public double go(double value) {
			return value + offset;
		}
	}

	static volatile double sink = 1.5;

	static double one(Step step, double value) {
		return step.go(value) + 1;
	}

	static double two(double value) {
		return new Three(value).go(value) + 2;
	}

	static double four(double value) {
		return new Interp().five(value) + 4;
	}

	synchronized double five(double value) {
		return six(value, 1L, 2, "six") + 5;
	}

	static double six(double value, long second, int third, String fourth) {
		return grind(value) + second + third + fourth.length();
	}

	static double grind(double value) {
		for (int i = 0; i < 100_000; i++)
			value = value * 1.0000001 + 0.5;
		return value;
	}

	static void work(long endNanos, int percent) throws InterruptedException {
		Step step = new Step() {
			@Override
			public double go(double value) {
				return two(value) + 3;
			}
		};
		while (System.nanoTime() < endNanos) {
			long start = System.nanoTime();
			for (int i = 0; i < 10; i++)
				sink = one(step, sink);
			long busy = System.nanoTime() - start;
			if (percent < 100)
				Thread.sleep(Math.max(1, busy * (100 - percent) / percent / 1_000_000));
		}
	}

	public static void main(String[] args) throws InterruptedException {
		System.out.println("READY");
		int percent = args.length > 1 ? Integer.parseInt(args[1]) : 100;
		work(System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L, percent);
	}
}
