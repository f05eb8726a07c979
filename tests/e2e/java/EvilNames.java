// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * A class and a method whose names no source file could hold, but a JVM takes: bytes that terminals
 * obey, quotes, markup, a line feed, blank and digits at the end. Made of a template by exchanging
 * names of equal length. Prints "READY" when the method runs. Arguments: seconds, percent of a CPU.
 */
public class EvilNames {
	static final String CLASS = "EvilTemplateWithALongName0123456789", METHOD = "methodWithALongNameToo01234567890123";
	// A class may be named anything but . ; [ /, and a method anything but < > as well.
	static final String EVIL_CLASS = pad("Evil\u001b#8<img src=x onerror='a'>\"", CLASS);
	static final String EVIL_METHOD = pad("evil\u001b]0;\nowned\u0007&quot\"'\\ 12", METHOD).replace(';', ':');

	static String pad(String name, String like) {
		StringBuilder padded = new StringBuilder(name);
		while (padded.length() < like.length())
			padded.append('7');
		return padded.substring(0, like.length());
	}

	static void replace(byte[] bytes, String from, String to) {
		byte[] old = from.getBytes(StandardCharsets.US_ASCII);
		byte[] fresh = to.getBytes(StandardCharsets.US_ASCII);
		for (int i = 0; i + old.length <= bytes.length; i++) {
			int same = 0;
			while (same < old.length && bytes[i + same] == old[same])
				same++;
			if (same == old.length)
				System.arraycopy(fresh, 0, bytes, i, fresh.length);
		}
	}

	static class Loader extends ClassLoader {
		Class<?> define() throws IOException {
			try (InputStream in = EvilNames.class.getResourceAsStream(CLASS + ".class")) {
				ByteArrayOutputStream out = new ByteArrayOutputStream();
				byte[] piece = new byte[4096];
				for (int cnt = in.read(piece); cnt > 0; cnt = in.read(piece))
					out.write(piece, 0, cnt);
				byte[] bytes = out.toByteArray();
				replace(bytes, CLASS, EVIL_CLASS);
				replace(bytes, METHOD, EVIL_METHOD);
				return defineClass(EVIL_CLASS, bytes, 0, bytes.length);
			}
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int percent = Integer.parseInt(args[1]);
		Method method = new Loader().define().getMethod(EVIL_METHOD, long.class);
		method.setAccessible(true);
		System.out.println("READY");
		while (System.nanoTime() < end) {
			long start = System.nanoTime();
			method.invoke(null, 20_000_000L);
			Thread.sleep((System.nanoTime() - start) * (100 - percent) / percent / 1_000_000);
		}
	}
}

/** The template. */
class EvilTemplateWithALongName0123456789 {
	public static volatile double sink = 1.5;

	public static void methodWithALongNameToo01234567890123(long nanos) {
		long end = System.nanoTime() + nanos;
		double value = sink;
		while (System.nanoTime() < end)
			for (int i = 0; i < 1000; i++)
				value = value * 1.0000001 + 0.5;
		sink = value;
	}
}
