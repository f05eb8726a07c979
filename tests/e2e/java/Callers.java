// SPDX-License-Identifier: Apache-2.0

/**
 * Calls all the time, and every method has only the callers that EDGES names: what a profile shows
 * above a method can be checked. Prints the edges ("EDGE callee caller"), then works. Run with
 * -XX:CompileCommand=dontinline,Callers*.* so that each method stays a frame. Argument: seconds.
 */
public class Callers {
	static final String[][] EDGES = {
		{ "Callers.round", "Callers.main" },
		{ "Callers.statics", "Callers.round" },
		{ "Callers.one", "Callers.statics" },
		{ "Callers.two", "Callers.one" },
		{ "Callers.three", "Callers.two" },
		{ "Callers.four", "Callers.three" },
		{ "Callers.wide", "Callers.statics" },
		{ "Callers.wideLeaf", "Callers.wide" },
		{ "Callers.real", "Callers.statics" },
		{ "Callers.realLeaf", "Callers.real" },
		{ "Callers.guarded", "Callers.statics" },
		{ "Callers.guardedLeaf", "Callers.guarded" },
		{ "Callers.virtuals", "Callers.round" },
		{ "Callers$Add.eval", "Callers.virtuals" },
		{ "Callers$Sub.eval", "Callers.virtuals" },
		{ "Callers$Xor.eval", "Callers.virtuals" },
		{ "Callers$Mul.eval", "Callers.virtuals" },
		{ "Callers.interfaces", "Callers.round" },
		{ "Callers$Twice.apply", "Callers.interfaces" },
		{ "Callers$Half.apply", "Callers.interfaces" },
		{ "Callers$Negate.apply", "Callers.interfaces" },
		{ "Callers$Same.apply", "Callers.interfaces" },
		{ "Callers.natives", "Callers.round" },
		{ "java.lang.Runtime.freeMemory", "Callers.natives" },
		{ "Callers.copies", "Callers.round" },
		{ "Callers.copyBytes", "Callers.copies" },
		{ "Callers.copyObjects", "Callers.copies" },
		{ "Callers.looping", "Callers.round" },
	};

	static int sink;
	static double realSink;

	abstract static class Node {
		int bias = 3;

		abstract int eval(int x);
	}

	static class Add extends Node {
		int eval(int x) {
			return x + bias;
		}
	}

	static class Sub extends Node {
		int eval(int x) {
			return x - bias;
		}
	}

	static class Xor extends Node {
		int eval(int x) {
			return x ^ bias;
		}
	}

	static class Mul extends Node {
		int eval(int x) {
			return x * bias + (x >> 3);
		}
	}

	interface Op {
		int apply(int x);
	}

	interface Named {
		String name();
	}

	static class Twice implements Named, Op {
		public int apply(int x) {
			return x * 2;
		}

		public String name() {
			return "twice";
		}
	}

	static class Half implements Op {
		public int apply(int x) {
			return x >> 1;
		}
	}

	static class Negate implements Op, Named {
		public int apply(int x) {
			return -x;
		}

		public String name() {
			return "negate";
		}
	}

	static class Same implements Op {
		public int apply(int x) {
			return x;
		}
	}

	static int four(int x) {
		return x * 31 + 7;
	}

	static int three(int x) {
		return four(x) + four(x + 1);
	}

	static int two(int x) {
		return three(x) ^ 5;
	}

	static int one(int x) {
		return two(x) + two(x ^ 9);
	}

	static int wideLeaf(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
		return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h + 19 * i + 23 * j;
	}

	/* Many values that live across calls: a large frame. */
	static int wide(int x) {
		int a = x + 1, b = x ^ 2, c = x * 3, d = x - 4, e = x + 5, f = x ^ 6, g = x * 7, h = x - 8;
		int r = wideLeaf(a, b, c, d, e, f, g, h, x, x);
		int s = wideLeaf(b, c, d, e, f, g, h, a, r, x);

		return r + s + a + b + c + d + e + f + g + h;
	}

	static double realLeaf(double x) {
		return x * 1.0000001 + 0.25;
	}

	static double real(double x) {
		return realLeaf(x) + realLeaf(x + 1);
	}

	static int guardedLeaf(int x) {
		if ((x & 0xffff) == 0xffff)
			throw new IllegalArgumentException();
		return x + 1;
	}

	static synchronized int guarded(int x) {
		try {
			return guardedLeaf(x);
		} catch (IllegalArgumentException e) {
			return 1;
		}
	}

	static void statics(int rounds) {
		int value = sink;
		double realValue = 0;

		for (int i = 0; i < rounds; i++) {
			value += one(i) + wide(i);
			realValue += real(i);
			value += guarded(i);
		}
		sink = value;
		realSink = realValue;
	}

	static void virtuals(Node[] nodes, int rounds) {
		int value = sink;

		for (int i = 0; i < rounds; i++)
			value = nodes[i % nodes.length].eval(value);
		sink = value;
	}

	static void interfaces(Op[] ops, int rounds) {
		int value = sink;

		for (int i = 0; i < rounds; i++)
			value = ops[i % ops.length].apply(value);
		sink = value;
	}

	static void natives(Runtime runtime, int rounds) {
		long value = 0;

		for (int i = 0; i < rounds; i++)
			value += runtime.freeMemory();
		sink += (int) value;
	}

	static void copyBytes(byte[] from, byte[] to, int len) {
		System.arraycopy(from, 1, to, 3, len);
	}

	static void copyObjects(Object[] from, Object[] to, int len) {
		System.arraycopy(from, 0, to, 1, len);
	}

	static void copies(byte[] bytes, Object[] objects, Object[] others, int rounds) {
		for (int i = 0; i < rounds; i++) {
			copyBytes(bytes, bytes, i % 200);
			copyObjects(objects, others, i % 50);
		}
	}

	/* One call, one long loop: runs in code compiled for on-stack replacement. */
	static int looping(int rounds) {
		int value = 1;

		for (int i = 1; i < rounds; i++)
			value += value / i + i;
		return value;
	}

	static void round(Node[] nodes, Op[] ops, byte[] bytes, Object[] objects, Object[] others) {
		statics(4000);
		virtuals(nodes, 40_000);
		interfaces(ops, 40_000);
		natives(Runtime.getRuntime(), 2000);
		copies(bytes, objects, others, 10_000);
		sink += looping(20_000);
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		Node[] nodes = { new Add(), new Sub(), new Xor(), new Mul() };
		Op[] ops = { new Twice(), new Half(), new Negate(), new Same() };
		byte[] bytes = new byte[256];
		Object[] objects = new String[64];
		Object[] others = new Object[80];

		for (String[] edge : EDGES)
			System.out.println("EDGE " + edge[0] + " " + edge[1]);
		System.out.flush();
		while (System.nanoTime() < end)
			round(nodes, ops, bytes, objects, others);
		System.out.println("DONE " + sink + " " + realSink);
	}
}
