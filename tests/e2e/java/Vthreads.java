// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads (JDK 21 and up; by reflection, so that any JDK compiles it). One never yields:
 * steadyTop, steadyMiddle, steadyBurn are on its stack all the time. Eight yield again and again
 * deep in yieldTop, yieldMiddle, yieldBottom, by park and by sleep, and burn CPU in yieldBurn:
 * when one is mounted again only its topmost frames are on a stack, the others stay in the heap.
 * Prints "READY", then "ALIVE" and rounds once a second. Arguments: seconds.
 */
public class Vthreads {
	static volatile double sink = 1.5;
	static volatile long rounds;

	static double burn(int count) {
		double value = sink;
		for (int i = 0; i < count; i++)
			value = value * 1.0000001 + 0.5;
		return value;
	}

	static double steadyBurn(long endNanos) {
		double total = 0;
		while (System.nanoTime() < endNanos)
			total += burn(50_000);
		return total;
	}

	static double steadyMiddle(long endNanos) {
		return steadyBurn(endNanos) + 1;
	}

	static void steadyTop(long endNanos) {
		sink = steadyMiddle(endNanos) + 1;
	}

	static double yieldBurn() {
		double total = 0;
		for (int i = 0; i < 40; i++)
			total += burn(50_000);
		return total;
	}

	static double yieldBottom(long endNanos, int which) throws InterruptedException {
		double total = 0;
		while (System.nanoTime() < endNanos) {
			total += yieldBurn();
			rounds++;
			if (which % 2 == 0)
				LockSupport.parkNanos(1_000_000);
			else
				Thread.sleep(1);
		}
		return total;
	}

	static double yieldMiddle(long endNanos, int which) throws InterruptedException {
		return yieldBottom(endNanos, which) + 1;
	}

	static void yieldTop(long endNanos, int which) {
		try {
			sink = yieldMiddle(endNanos, which) + 1;
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
		List<Thread> threads = new ArrayList<>();
		Runnable steady = () -> steadyTop(endNanos);
		threads.add((Thread) start.invoke(null, steady));
		for (int i = 0; i < 8; i++) {
			int which = i;
			Runnable yielding = () -> yieldTop(endNanos, which);
			threads.add((Thread) start.invoke(null, yielding));
		}
		System.out.println("READY");
		while (System.nanoTime() < endNanos) {
			Thread.sleep(1000);
			System.out.println("ALIVE " + rounds);
		}
		for (Thread thread : threads)
			thread.join();
	}
}
