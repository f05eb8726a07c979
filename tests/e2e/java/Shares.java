// SPDX-License-Identifier: Apache-2.0

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Spends CPU time 70 : 30 in two named methods. The slices are measured in the thread's own CPU
 * time, so other load on the host does not bend them, and what was really spent is printed once a
 * second: "TRUTH nanoseconds-in-seventy nanoseconds-in-thirty". Run with dontinline for both.
 * Arguments: seconds, percent of a CPU to use (100).
 */
public class Shares {
	static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
	static final long SLICE_NANOS = 1_000_000;
	static volatile double sink = 1.5;

	static void seventy(long untilNanos) {
		double value = sink;
		while (THREADS.getCurrentThreadCpuTime() < untilNanos)
			for (int i = 0; i < 20_000; i++)
				value = value * 1.0000001 + 0.5;
		sink = value;
	}

	static void thirty(long untilNanos) {
		double value = sink;
		while (THREADS.getCurrentThreadCpuTime() < untilNanos)
			for (int i = 0; i < 20_000; i++)
				value = value * 0.9999999 + 0.25;
		sink = value;
	}

	static void work(long endNanos, int percent) throws InterruptedException {
		long inSeventy = 0;
		long inThirty = 0;
		long nextReport = 0;
		while (System.nanoTime() < endNanos) {
			long start = THREADS.getCurrentThreadCpuTime();
			long startWall = System.nanoTime();
			seventy(start + 70 * SLICE_NANOS);
			long middle = THREADS.getCurrentThreadCpuTime();
			thirty(middle + 30 * SLICE_NANOS);
			long end = THREADS.getCurrentThreadCpuTime();
			inSeventy += middle - start;
			inThirty += end - middle;
			if (System.nanoTime() >= nextReport) {
				System.out.println("TRUTH " + inSeventy + " " + inThirty);
				nextReport = System.nanoTime() + 1_000_000_000L;
			}
			long pause = (end - start) * 100 / percent - (System.nanoTime() - startWall);
			if (percent < 100 && pause > 0)
				Thread.sleep(pause / 1_000_000);
		}
		System.out.println("TRUTH " + inSeventy + " " + inThirty);
	}

	public static void main(String[] args) throws InterruptedException {
		int percent = args.length > 1 ? Integer.parseInt(args[1]) : 100;
		work(System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L, percent);
	}
}
