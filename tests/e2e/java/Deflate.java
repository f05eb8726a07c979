// SPDX-License-Identifier: Apache-2.0

import java.util.Random;
import java.util.zip.Deflater;

/**
 * Spends its time in zlib, called from Java: native code without frame pointers, below JIT code. A whole
 * stack shows Deflate.compress, the JDK's native code and zlib's functions.
 * Arguments: seconds, percent of a CPU to use (100).
 */
public class Deflate {
	static long compress(byte[] text, byte[] out, int count) {
		long bytes = 0;
		for (int i = 0; i < count; i++) {
			Deflater deflater = new Deflater(6);
			deflater.setInput(text);
			deflater.finish();
			while (!deflater.finished())
				bytes += deflater.deflate(out);
			deflater.end();
		}
		return bytes;
	}

	public static void main(String[] args) throws Exception {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int percent = args.length > 1 ? Integer.parseInt(args[1]) : 100;
		byte[] text = new byte[64 << 10];
		byte[] out = new byte[16 << 10];
		Random random = new Random(1);
		for (int i = 0; i < text.length; i++)
			text[i] = (byte) (' ' + random.nextInt(24));
		while (System.nanoTime() < endNanos) {
			long start = System.nanoTime();
			compress(text, out, 4);
			long busy = System.nanoTime() - start;
			if (percent < 100)
				Thread.sleep(busy * (100 - percent) / percent / 1_000_000);
		}
	}
}
