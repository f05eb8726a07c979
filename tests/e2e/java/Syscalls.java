// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/**
 * Spends its time in the kernel, called from Java: reads zeros in 256 KiB pieces. A whole stack
 * shows Syscalls.readPieces, the JDK's native code and the C library, then kernel functions.
 * Arguments: seconds, percent of a CPU to use (100).
 */
public class Syscalls {
	static long readPieces(FileChannel channel, ByteBuffer piece, int count) throws IOException {
		long bytes = 0;
		for (int i = 0; i < count; i++) {
			piece.clear();
			bytes += channel.read(piece);
		}
		return bytes;
	}

	public static void main(String[] args) throws Exception {
		long endNanos = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int percent = args.length > 1 ? Integer.parseInt(args[1]) : 100;
		ByteBuffer piece = ByteBuffer.allocateDirect(256 << 10);
		try (FileChannel channel = FileChannel.open(Paths.get("/dev/zero"), StandardOpenOption.READ)) {
			while (System.nanoTime() < endNanos) {
				long start = System.nanoTime();
				readPieces(channel, piece, 200);
				long busy = System.nanoTime() - start;
				if (percent < 100)
					Thread.sleep(busy * (100 - percent) / percent / 1_000_000);
			}
		}
	}
}
