// SPDX-License-Identifier: Apache-2.0

/**
 * Inlining that is known beforehand. Every method but those of the sinks is small enough for both
 * compilers to inline it; the sinks are not inlined because three of them are called at one place.
 * Once compiled, the code of work() holds first(), second() and third(), and a sample in a sink has
 * a return address there that must read, innermost first:
 *
 *     Inlined$SinkN.eat  Inlined.third  Inlined.second  Inlined.first  Inlined.work  Inlined.main
 *
 * with the line of the comment "@third" in Inlined.java for third(), and so on; those of second(),
 * first() and third() are inlined, work() is not. With -XX:+DebugNonSafepoints a sample in
 * add() must read, likewise with "@add", "@mix", "@fold" and "@spin":
 *
 *     Inlined.add  Inlined.mix  Inlined.fold  Inlined.spin  Inlined.main
 *
 * (without it the compiler describes only calls and safepoints, and such a sample is taken for the
 * loop of spin). Prints "WARM" when all has been compiled for long.
 * Arguments: seconds (until it is killed).
 */
public class Inlined {
	interface Sink {
		int eat(int value);
	}

	static class Sink1 implements Sink {
		@Override
		public int eat(int value) {
			int total = value;
			for (int i = 0; i < 300; i++)
				total = total * 31 + i; // @eat1
			return total;
		}
	}

	static class Sink2 implements Sink {
		@Override
		public int eat(int value) {
			int total = value;
			for (int i = 0; i < 300; i++)
				total = total * 33 ^ i; // @eat2
			return total;
		}
	}

	static class Sink3 implements Sink {
		@Override
		public int eat(int value) {
			int total = value;
			for (int i = 0; i < 300; i++)
				total = total * 37 - i; // @eat3
			return total;
		}
	}

	private static final Sink[] SINKS = { new Sink1(), new Sink2(), new Sink3() };
	static int result;

	static int third(int value) {
		return SINKS[value % 3].eat(value); // @third
	}

	static int second(int value) {
		return third(value) ^ 3; // @second
	}

	static int first(int value) {
		return second(value) + 1; // @first
	}

	static int work(int rounds) {
		int total = 0;
		for (int i = 0; i < rounds; i++)
			total += first(i); // @work
		return total;
	}

	static int add(int a, int b) {
		return a * 31 + (b ^ a >>> 3); // @add
	}

	static int mix(int a, int b) {
		return add(a, b) * 17; // @mix
	}

	static int fold(int a, int b) {
		return mix(a, b) - 5; // @fold
	}

	static int spin(int rounds) {
		int total = 1;
		for (int i = 0; i < rounds; i++)
			total = fold(total, i); // @spin
		return total;
	}

	public static void main(String[] arguments) {
		long begin = System.nanoTime();
		long warm = begin + 3_000_000_000L;
		long nanos = arguments.length > 0 ? Long.parseLong(arguments[0]) * 1_000_000_000L : Long.MAX_VALUE;
		boolean isWarm = false;

		while (System.nanoTime() - begin < nanos) {
			result += work(3000); // @main-work
			result += spin(200_000); // @main-spin
			if (!isWarm && System.nanoTime() > warm) {
				isWarm = true;
				System.out.println("WARM");
			}
		}
	}
}
