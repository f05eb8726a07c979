// SPDX-License-Identifier: Apache-2.0

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * A small shop that is busy all the time, made to be profiled: arithmetic (PriceEngine), sorting
 * (Catalog), allocation and garbage collection (Invoice), hashing in the JDK (Signer), and system
 * calls (Journal). Ends after the number of seconds given, default 600.
 */
public class Shop {
	static final class Item {
		final long id;
		final double price;

		Item(long id, double price) {
			this.id = id;
			this.price = price;
		}
	}

	static final class PriceEngine {
		double quote(List<Item> items) {
			double sum = 0;
			for (Item item : items)
				sum += discount(item);
			return sum;
		}

		double discount(Item item) {
			double price = item.price;
			for (int step = 1; step <= 400; step++)
				price = price * 0.999 + Math.sqrt(price + step) * 0.0001 + (item.id % (step + 1)) * 1e-9;
			return price;
		}
	}

	static final class Catalog {
		private final Random random = new Random(7);

		List<Item> pick(int count) {
			List<Item> items = new ArrayList<>(count);
			for (int i = 0; i < count; i++)
				items.add(new Item(random.nextLong() >>> 1, random.nextDouble() * 100));
			items.sort(Comparator.comparingDouble(item -> item.price));
			return items;
		}
	}

	static final class Invoice {
		String render(List<Item> items, double total) {
			StringBuilder text = new StringBuilder();
			for (Item item : items)
				text.append(item.id).append(';').append(Math.round(item.price * 100)).append('\n');
			return text.append("total ").append(Math.round(total * 100)).append('\n').toString();
		}
	}

	static final class Signer {
		byte[] sign(String text) throws Exception {
			MessageDigest digest = MessageDigest.getInstance("SHA-256");
			return digest.digest(text.getBytes(StandardCharsets.UTF_8));
		}
	}

	static final class Journal implements AutoCloseable {
		private final FileOutputStream file;

		Journal(String path) throws IOException {
			file = new FileOutputStream(path);
		}

		void append(byte[] signature) throws IOException {
			for (int i = 0; i < 40; i++)
				file.write(signature);
			if (file.getChannel().position() > (4 << 20))
				file.getChannel().truncate(0);
		}

		@Override
		public void close() throws IOException {
			file.close();
		}
	}

	static void serve(int number, long endNanos) throws Exception {
		PriceEngine engine = new PriceEngine();
		Catalog catalog = new Catalog();
		Invoice invoice = new Invoice();
		Signer signer = new Signer();
		try (Journal journal = new Journal("/tmp/journal-" + number)) {
			while (System.nanoTime() < endNanos)
				handleOrder(catalog, engine, invoice, signer, journal);
		}
	}

	static void handleOrder(Catalog catalog, PriceEngine engine, Invoice invoice, Signer signer,
			Journal journal) throws Exception {
		List<Item> items = catalog.pick(200);
		double total = engine.quote(items);
		journal.append(signer.sign(invoice.render(items, total)));
	}

	public static void main(String[] args) throws Exception {
		long seconds = args.length > 0 ? Long.parseLong(args[0]) : 600;
		long endNanos = System.nanoTime() + seconds * 1_000_000_000L;
		Thread second = new Thread(() -> {
			try {
				serve(2, endNanos);
			} catch (Exception e) {
				e.printStackTrace();
			}
		}, "shop-2");
		second.setDaemon(true);
		second.start();
		serve(1, endNanos);
	}
}
