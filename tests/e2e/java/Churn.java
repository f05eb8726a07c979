// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleUnaryOperator;

/**
 * Code that comes and goes: classes are made by the hundred from one template, each by a class
 * loader of its own, run hot so that they are compiled, deoptimised by a subclass that is loaded
 * later, compiled again, dropped and unloaded; their code's memory goes to the next ones.
 *
 * Every generated name carries the number of its class: Gen0042.spin0042 calls only helper0042,
 * which calls only Base0042.step0042 or Next0042.step0042. A stack with two numbers is provably
 * wrong. When a class is done, "GEN number begin-ms end-ms cpu-ns" says when it lived (ms since
 * 1970) and what CPU time its thread spent in it. At the end: "DEAD n" counts the class loaders that were
 * collected, "UNLOADED n" the classes, then "DONE".
 * Arguments: seconds, threads (2), milliseconds per class (150), a file that ends it sooner once it is there.
 */
public class Churn {
	/** Implemented by the generated classes. */
	public interface Work {
		double work(long untilCpuNanos);

		/** Loads the subclass that makes what was compiled so far invalid. */
		void diverge() throws ReflectiveOperationException;
	}

	static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
	static final AtomicInteger NEXT = new AtomicInteger(1);
	static final Queue<WeakReference<Loader>> LOADERS = new ConcurrentLinkedQueue<>();
	static final int LEAST_CLASSES = 24; // on a busy host they take longer
	static volatile double sink;

	public static long cpuNanos() {
		return THREADS.getCurrentThreadCpuTime();
	}

	/** Defines the template's classes under a number of their own. */
	static class Loader extends ClassLoader {
		private final String number;

		Loader(String number) {
			super(Churn.class.getClassLoader());
			this.number = number;
		}

		@Override
		protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
			if (!name.endsWith(number))
				return super.loadClass(name, resolve);
			synchronized (getClassLoadingLock(name)) {
				Class<?> known = findLoadedClass(name);
				return known != null ? known : define(name);
			}
		}

		private Class<?> define(String name) throws ClassNotFoundException {
			try {
				byte[] bytes = template(name.substring(0, name.length() - 4) + "0000");
				renumber(bytes);
				return defineClass(name, bytes, 0, bytes.length);
			} catch (IOException e) {
				throw new ClassNotFoundException(name, e);
			}
		}

		/** Same length, so that a class file stays one: only names have "0000" after a letter. */
		private void renumber(byte[] bytes) {
			byte[] digits = number.getBytes(StandardCharsets.US_ASCII);
			for (int i = 1; i + 4 <= bytes.length; i++) {
				if (!Character.isLetter((char) (bytes[i - 1] & 0x7f)))
					continue;
				if (bytes[i] == '0' && bytes[i + 1] == '0' && bytes[i + 2] == '0' && bytes[i + 3] == '0')
					System.arraycopy(digits, 0, bytes, i, 4);
			}
		}
	}

	static byte[] template(String name) throws IOException {
		try (InputStream in = Churn.class.getResourceAsStream(name + ".class")) {
			ByteArrayOutputStream out = new ByteArrayOutputStream();
			byte[] piece = new byte[4096];
			for (int cnt = in.read(piece); cnt > 0; cnt = in.read(piece))
				out.write(piece, 0, cnt);
			return out.toByteArray();
		}
	}

	public static Object make(ClassLoader loader, String name) throws ReflectiveOperationException {
		Constructor<?> constructor = loader.loadClass(name).getDeclaredConstructor();
		constructor.setAccessible(true);
		return constructor.newInstance();
	}

	static void oneClass(int id, long millis) throws ReflectiveOperationException {
		String number = String.format("%04d", id);
		long begin = System.currentTimeMillis();
		long startCpu = cpuNanos();
		Loader loader = new Loader(number);
		LOADERS.add(new WeakReference<>(loader));
		Work work = (Work) make(loader, "Gen" + number);
		long half = millis * 500_000;
		sink = work.work(cpuNanos() + half);
		work.diverge();
		sink = work.work(cpuNanos() + half);
		System.out.println("GEN " + number + " " + begin + " " + System.currentTimeMillis() + " "
			+ (cpuNanos() - startCpu));
	}

	static void churn(long endNanos, long millis, File end) {
		try {
			while ((System.nanoTime() < endNanos && !end.exists()) || NEXT.get() <= LEAST_CLASSES) {
				int id = NEXT.getAndIncrement();
				if (id > 9999)
					return;
				oneClass(id, millis);
				if (id % 8 == 0)
					System.gc(); // unloads the classes before
			}
		} catch (ReflectiveOperationException | LinkageError e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws InterruptedException {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int threads = args.length > 1 ? Integer.parseInt(args[1]) : 2;
		long millis = args.length > 2 ? Long.parseLong(args[2]) : 150;
		File end = new File(args.length > 3 ? args[3] : "/none");
		Thread[] all = new Thread[threads];
		for (int i = 0; i < threads; i++) {
			all[i] = new Thread(() -> churn(endNanos, millis, end), "churn-" + i);
			all[i].start();
		}
		System.out.println("READY");
		for (Thread thread : all)
			thread.join();
		System.out.println("DEAD " + LOADERS.stream().filter(loader -> loader.get() == null).count());
		System.out.println("UNLOADED " + ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
		System.out.println("DONE");
	}
}

/** The template. Numbers stand behind a letter in every name. */
class Gen0000 implements Churn.Work {
	private Base0000 shape = new Base0000();

	@Override
	public double work(long untilCpuNanos) {
		double total = 0;
		while (Churn.cpuNanos() < untilCpuNanos)
			total += spin0000(total);
		return total;
	}

	@Override
	public void diverge() throws ReflectiveOperationException {
		shape = (Base0000) Churn.make(getClass().getClassLoader(), "Next0000");
	}

	double spin0000(double value) {
		DoubleUnaryOperator fold = x -> helper0000(x);
		for (int i = 0; i < 200; i++)
			value = fold.applyAsDouble(value) + helper0000(value);
		return value;
	}

	double helper0000(double value) {
		for (int i = 0; i < 30; i++)
			value = shape.step0000(value);
		return value;
	}
}

class Base0000 {
	double step0000(double value) {
		for (int i = 0; i < 10; i++)
			value = value * 1.0000001 + 0.5;
		return value;
	}
}

class Next0000 extends Base0000 {
	@Override
	double step0000(double value) {
		for (int i = 0; i < 10; i++)
			value = value * 0.9999999 + 0.25;
		return value;
	}
}
