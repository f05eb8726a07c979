// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Touches memory outside of the heap: three pages in touchThree for one in touchOne. Once a second it
 * prints how many page faults its thread really took in each: "TRUTH faults-in-three faults-in-one".
 * Arguments: seconds.
 */
public class OffHeap {
	static final int PAGE_BYTES = 4096;
	static final int UNIT_BYTES = 2 << 20;

	static void touchThree(MappedByteBuffer memory) {
		for (int at = 0; at < 3 * UNIT_BYTES; at += PAGE_BYTES)
			memory.put(at, (byte) 1);
	}

	static void touchOne(MappedByteBuffer memory) {
		for (int at = 0; at < UNIT_BYTES; at += PAGE_BYTES)
			memory.put(3 * UNIT_BYTES + at, (byte) 2);
	}

	/** Field 10 of proc(5): minor faults of this thread. */
	static long faultsNow() throws IOException {
		try (RandomAccessFile stat = new RandomAccessFile("/proc/thread-self/stat", "r")) {
			String line = stat.readLine();
			return Long.parseLong(line.substring(line.lastIndexOf(')') + 2).split(" ")[7]);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		long nextReport = 0;
		long inThree = 0;
		long inOne = 0;
		RandomAccessFile file = new RandomAccessFile("/dev/shm/off-heap", "rw");
		file.setLength(4 * UNIT_BYTES);
		for (int i = 0; System.nanoTime() < end; i++) {
			MappedByteBuffer memory =
				file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4 * UNIT_BYTES);
			long begin = faultsNow();
			touchThree(memory);
			long middle = faultsNow();
			touchOne(memory);
			inThree += middle - begin;
			inOne += faultsNow() - middle;
			if (System.nanoTime() >= nextReport) {
				System.out.println("TRUTH " + inThree + " " + inOne);
				nextReport = System.nanoTime() + 1_000_000_000L;
			}
			/* What is mapped goes with the object. */
			if (i % 20 == 19)
				System.gc();
			Thread.sleep(10);
		}
		System.out.println("TRUTH " + inThree + " " + inOne);
	}
}
