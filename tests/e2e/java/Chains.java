// SPDX-License-Identifier: Apache-2.0

/**
 * Each chain of calls is known: every layer has three methods, of which each calls one of the next
 * layer's, and nothing else; the last layer works. A stack whose layers do not follow each other, down to
 * the lambda that is the thread's, is none. Run with -XX:-Inline, so that each method stays a frame.
 * "a" are small and static, "b" hold many values over the call, "c" are virtual and catch exceptions.
 * Argument: seconds.
 */
public class Chains {
	static final int[] FROM = new int[256], TO = new int[256];
	static Chains self = new Chains();
	static volatile long sum;

	static long a0(long x) {
		switch ((int) (x >>> 0) & 3) {
		case 0: return b1(x) + 1;
		case 1: return self.c1(x) + 2;
		default: return a1(x);
		}
	}

	static long b0(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 0 & 1) == 0 ? a1(x ^ 1) : (x >>> 0 & 2) == 0 ? b1(x ^ 2) : self.c1(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c0(long x) {
		try {
			if ((x >>> 0 & 1) == 0)
				return b1(x + 0);
			return (x >>> 0 & 2) == 0 ? a1(x) : c1(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a1(long x) {
		switch ((int) (x >>> 2) & 3) {
		case 0: return b2(x) + 1;
		case 1: return self.c2(x) + 2;
		default: return a2(x);
		}
	}

	static long b1(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 2 & 1) == 0 ? a2(x ^ 1) : (x >>> 2 & 2) == 0 ? b2(x ^ 2) : self.c2(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c1(long x) {
		try {
			if ((x >>> 2 & 1) == 0)
				return b2(x + 1);
			return (x >>> 2 & 2) == 0 ? a2(x) : c2(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a2(long x) {
		switch ((int) (x >>> 4) & 3) {
		case 0: return b3(x) + 1;
		case 1: return self.c3(x) + 2;
		default: return a3(x);
		}
	}

	static long b2(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 4 & 1) == 0 ? a3(x ^ 1) : (x >>> 4 & 2) == 0 ? b3(x ^ 2) : self.c3(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c2(long x) {
		try {
			if ((x >>> 4 & 1) == 0)
				return b3(x + 2);
			return (x >>> 4 & 2) == 0 ? a3(x) : c3(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a3(long x) {
		switch ((int) (x >>> 6) & 3) {
		case 0: return b4(x) + 1;
		case 1: return self.c4(x) + 2;
		default: return a4(x);
		}
	}

	static long b3(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 6 & 1) == 0 ? a4(x ^ 1) : (x >>> 6 & 2) == 0 ? b4(x ^ 2) : self.c4(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c3(long x) {
		try {
			if ((x >>> 6 & 1) == 0)
				return b4(x + 3);
			return (x >>> 6 & 2) == 0 ? a4(x) : c4(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a4(long x) {
		switch ((int) (x >>> 8) & 3) {
		case 0: return b5(x) + 1;
		case 1: return self.c5(x) + 2;
		default: return a5(x);
		}
	}

	static long b4(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 8 & 1) == 0 ? a5(x ^ 1) : (x >>> 8 & 2) == 0 ? b5(x ^ 2) : self.c5(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c4(long x) {
		try {
			if ((x >>> 8 & 1) == 0)
				return b5(x + 4);
			return (x >>> 8 & 2) == 0 ? a5(x) : c5(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a5(long x) {
		switch ((int) (x >>> 10) & 3) {
		case 0: return b6(x) + 1;
		case 1: return self.c6(x) + 2;
		default: return a6(x);
		}
	}

	static long b5(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 10 & 1) == 0 ? a6(x ^ 1) : (x >>> 10 & 2) == 0 ? b6(x ^ 2) : self.c6(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c5(long x) {
		try {
			if ((x >>> 10 & 1) == 0)
				return b6(x + 5);
			return (x >>> 10 & 2) == 0 ? a6(x) : c6(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a6(long x) {
		switch ((int) (x >>> 12) & 3) {
		case 0: return b7(x) + 1;
		case 1: return self.c7(x) + 2;
		default: return a7(x);
		}
	}

	static long b6(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 12 & 1) == 0 ? a7(x ^ 1) : (x >>> 12 & 2) == 0 ? b7(x ^ 2) : self.c7(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c6(long x) {
		try {
			if ((x >>> 12 & 1) == 0)
				return b7(x + 6);
			return (x >>> 12 & 2) == 0 ? a7(x) : c7(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a7(long x) {
		switch ((int) (x >>> 14) & 3) {
		case 0: return b8(x) + 1;
		case 1: return self.c8(x) + 2;
		default: return a8(x);
		}
	}

	static long b7(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 14 & 1) == 0 ? a8(x ^ 1) : (x >>> 14 & 2) == 0 ? b8(x ^ 2) : self.c8(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c7(long x) {
		try {
			if ((x >>> 14 & 1) == 0)
				return b8(x + 7);
			return (x >>> 14 & 2) == 0 ? a8(x) : c8(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a8(long x) {
		switch ((int) (x >>> 16) & 3) {
		case 0: return b9(x) + 1;
		case 1: return self.c9(x) + 2;
		default: return a9(x);
		}
	}

	static long b8(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 16 & 1) == 0 ? a9(x ^ 1) : (x >>> 16 & 2) == 0 ? b9(x ^ 2) : self.c9(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c8(long x) {
		try {
			if ((x >>> 16 & 1) == 0)
				return b9(x + 8);
			return (x >>> 16 & 2) == 0 ? a9(x) : c9(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a9(long x) {
		switch ((int) (x >>> 18) & 3) {
		case 0: return b10(x) + 1;
		case 1: return self.c10(x) + 2;
		default: return a10(x);
		}
	}

	static long b9(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 18 & 1) == 0 ? a10(x ^ 1) : (x >>> 18 & 2) == 0 ? b10(x ^ 2) : self.c10(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c9(long x) {
		try {
			if ((x >>> 18 & 1) == 0)
				return b10(x + 9);
			return (x >>> 18 & 2) == 0 ? a10(x) : c10(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a10(long x) {
		switch ((int) (x >>> 20) & 3) {
		case 0: return b11(x) + 1;
		case 1: return self.c11(x) + 2;
		default: return a11(x);
		}
	}

	static long b10(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 20 & 1) == 0 ? a11(x ^ 1) : (x >>> 20 & 2) == 0 ? b11(x ^ 2) : self.c11(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c10(long x) {
		try {
			if ((x >>> 20 & 1) == 0)
				return b11(x + 10);
			return (x >>> 20 & 2) == 0 ? a11(x) : c11(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a11(long x) {
		switch ((int) (x >>> 22) & 3) {
		case 0: return b12(x) + 1;
		case 1: return self.c12(x) + 2;
		default: return a12(x);
		}
	}

	static long b11(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 22 & 1) == 0 ? a12(x ^ 1) : (x >>> 22 & 2) == 0 ? b12(x ^ 2) : self.c12(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c11(long x) {
		try {
			if ((x >>> 22 & 1) == 0)
				return b12(x + 11);
			return (x >>> 22 & 2) == 0 ? a12(x) : c12(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a12(long x) {
		switch ((int) (x >>> 24) & 3) {
		case 0: return b13(x) + 1;
		case 1: return self.c13(x) + 2;
		default: return a13(x);
		}
	}

	static long b12(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 24 & 1) == 0 ? a13(x ^ 1) : (x >>> 24 & 2) == 0 ? b13(x ^ 2) : self.c13(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c12(long x) {
		try {
			if ((x >>> 24 & 1) == 0)
				return b13(x + 12);
			return (x >>> 24 & 2) == 0 ? a13(x) : c13(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a13(long x) {
		switch ((int) (x >>> 26) & 3) {
		case 0: return b14(x) + 1;
		case 1: return self.c14(x) + 2;
		default: return a14(x);
		}
	}

	static long b13(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 26 & 1) == 0 ? a14(x ^ 1) : (x >>> 26 & 2) == 0 ? b14(x ^ 2) : self.c14(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c13(long x) {
		try {
			if ((x >>> 26 & 1) == 0)
				return b14(x + 13);
			return (x >>> 26 & 2) == 0 ? a14(x) : c14(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a14(long x) {
		switch ((int) (x >>> 28) & 3) {
		case 0: return b15(x) + 1;
		case 1: return self.c15(x) + 2;
		default: return a15(x);
		}
	}

	static long b14(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 28 & 1) == 0 ? a15(x ^ 1) : (x >>> 28 & 2) == 0 ? b15(x ^ 2) : self.c15(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c14(long x) {
		try {
			if ((x >>> 28 & 1) == 0)
				return b15(x + 14);
			return (x >>> 28 & 2) == 0 ? a15(x) : c15(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a15(long x) {
		switch ((int) (x >>> 30) & 3) {
		case 0: return b16(x) + 1;
		case 1: return self.c16(x) + 2;
		default: return a16(x);
		}
	}

	static long b15(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 30 & 1) == 0 ? a16(x ^ 1) : (x >>> 30 & 2) == 0 ? b16(x ^ 2) : self.c16(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c15(long x) {
		try {
			if ((x >>> 30 & 1) == 0)
				return b16(x + 15);
			return (x >>> 30 & 2) == 0 ? a16(x) : c16(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a16(long x) {
		switch ((int) (x >>> 32) & 3) {
		case 0: return b17(x) + 1;
		case 1: return self.c17(x) + 2;
		default: return a17(x);
		}
	}

	static long b16(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 32 & 1) == 0 ? a17(x ^ 1) : (x >>> 32 & 2) == 0 ? b17(x ^ 2) : self.c17(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c16(long x) {
		try {
			if ((x >>> 32 & 1) == 0)
				return b17(x + 16);
			return (x >>> 32 & 2) == 0 ? a17(x) : c17(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a17(long x) {
		switch ((int) (x >>> 34) & 3) {
		case 0: return b18(x) + 1;
		case 1: return self.c18(x) + 2;
		default: return a18(x);
		}
	}

	static long b17(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 34 & 1) == 0 ? a18(x ^ 1) : (x >>> 34 & 2) == 0 ? b18(x ^ 2) : self.c18(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c17(long x) {
		try {
			if ((x >>> 34 & 1) == 0)
				return b18(x + 17);
			return (x >>> 34 & 2) == 0 ? a18(x) : c18(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a18(long x) {
		switch ((int) (x >>> 36) & 3) {
		case 0: return b19(x) + 1;
		case 1: return self.c19(x) + 2;
		default: return a19(x);
		}
	}

	static long b18(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 36 & 1) == 0 ? a19(x ^ 1) : (x >>> 36 & 2) == 0 ? b19(x ^ 2) : self.c19(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c18(long x) {
		try {
			if ((x >>> 36 & 1) == 0)
				return b19(x + 18);
			return (x >>> 36 & 2) == 0 ? a19(x) : c19(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a19(long x) {
		switch ((int) (x >>> 38) & 3) {
		case 0: return b20(x) + 1;
		case 1: return self.c20(x) + 2;
		default: return a20(x);
		}
	}

	static long b19(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 38 & 1) == 0 ? a20(x ^ 1) : (x >>> 38 & 2) == 0 ? b20(x ^ 2) : self.c20(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c19(long x) {
		try {
			if ((x >>> 38 & 1) == 0)
				return b20(x + 19);
			return (x >>> 38 & 2) == 0 ? a20(x) : c20(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a20(long x) {
		switch ((int) (x >>> 40) & 3) {
		case 0: return b21(x) + 1;
		case 1: return self.c21(x) + 2;
		default: return a21(x);
		}
	}

	static long b20(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 40 & 1) == 0 ? a21(x ^ 1) : (x >>> 40 & 2) == 0 ? b21(x ^ 2) : self.c21(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c20(long x) {
		try {
			if ((x >>> 40 & 1) == 0)
				return b21(x + 20);
			return (x >>> 40 & 2) == 0 ? a21(x) : c21(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a21(long x) {
		switch ((int) (x >>> 42) & 3) {
		case 0: return b22(x) + 1;
		case 1: return self.c22(x) + 2;
		default: return a22(x);
		}
	}

	static long b21(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 42 & 1) == 0 ? a22(x ^ 1) : (x >>> 42 & 2) == 0 ? b22(x ^ 2) : self.c22(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c21(long x) {
		try {
			if ((x >>> 42 & 1) == 0)
				return b22(x + 21);
			return (x >>> 42 & 2) == 0 ? a22(x) : c22(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a22(long x) {
		switch ((int) (x >>> 44) & 3) {
		case 0: return b23(x) + 1;
		case 1: return self.c23(x) + 2;
		default: return a23(x);
		}
	}

	static long b22(long x) {
		long p = x * 3, q = x * 5, r = x * 7, s = x * 11, t = x * 13, u = x * 17, v = x * 19;
		double d = x * 0.5;
		long y = (x >>> 44 & 1) == 0 ? a23(x ^ 1) : (x >>> 44 & 2) == 0 ? b23(x ^ 2) : self.c23(x);
		return y + p + q + r + s + t + u + v + (long) d;
	}

	long c22(long x) {
		try {
			if ((x >>> 44 & 1) == 0)
				return b23(x + 22);
			return (x >>> 44 & 2) == 0 ? a23(x) : c23(x);
		} catch (IllegalStateException e) {
			return x;
		}
	}

	static long a23(long x) {
		for (int i = 0; i < 50; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		return x;
	}

	static long b23(long x) {
		System.arraycopy(FROM, (int) x & 15, TO, 0, 200);
		return x + TO[(int) x & 127] + (long) (Math.sin(x) * 8);
	}

	long c23(long x) {
		if ((x & 4095) == 0)
			throw new IllegalStateException();
		if ((x & 63) == 1)
			return x + System.nanoTime();
		return x + new int[(int) x & 31].length;
	}

	public static void main(String[] arguments) throws Exception {
		long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
		Thread thread = new Thread(() -> {
			long x = 88172645463325252L, total = 0;
			for (int i = 0; (i & 1023) != 0 || System.nanoTime() < end; i++) {
				x ^= x << 13;
				x ^= x >>> 7;
				x ^= x << 17;
				try {
					total += a0(x) + b0(x) + self.c0(x);
				} catch (IllegalStateException e) {
					total++;
				}
			}
			sum = total;
		});
		thread.start();
		Thread.sleep(2000);
		System.out.println("READY");
		thread.join();
	}
}
