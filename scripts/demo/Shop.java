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
 * A small shop that is busy all the time, made to be profiled: sorting (PickItems), arithmetic
 * (QuotePrice and its rules), allocation and garbage collection (RenderInvoice), hashing in the JDK
 * (SignInvoice), and system calls (AppendJournal). Steps and rules are called through interfaces
 * with many implementations, so that the compiler leaves them as methods of their own. Ends after
 * the number of seconds given, default 600.
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

	static final class Order {
		List<Item> items;
		double total;
		String invoice;
		byte[] signature;
	}

	interface Step {
		void run(Order order) throws Exception;
	}

	static final class PickItems implements Step {
		private final Random random = new Random(7);

		public void run(Order order) {
			List<Item> items = new ArrayList<>(300);
			for (int i = 0; i < 300; i++)
				items.add(new Item(random.nextLong() >>> 1, random.nextDouble() * 100));
			items.sort(Comparator.comparingDouble(item -> item.price));
			order.items = items;
		}
	}

	interface Rule {
		double apply(Item item, double price);
	}

	static final class DiscountRule implements Rule {
		public double apply(Item item, double price) {
			for (int step = 1; step <= 60; step++)
				price = price * 0.999 + (item.id % (step + 1)) * 1e-9;
			return price;
		}
	}

	static final class LoyaltyRule implements Rule {
		public double apply(Item item, double price) {
			for (int step = 1; step <= 25; step++)
				price += Math.sqrt(price + step) * 1e-4;
			return price;
		}
	}

	static final class ShippingRule implements Rule {
		public double apply(Item item, double price) {
			long weight = item.id;
			for (int step = 0; step < 20; step++)
				weight = weight * 31 + step;
			return price + (weight & 7);
		}
	}

	static final class TaxRule implements Rule {
		public double apply(Item item, double price) {
			double tax = 0;
			for (int step = 1; step <= 30; step++)
				tax += price / (step + 5);
			return price + tax * 0.01;
		}
	}

	static final class QuotePrice implements Step {
		private final Rule[] rules = {
			new DiscountRule(), new LoyaltyRule(), new ShippingRule(), new TaxRule()
		};

		public void run(Order order) {
			double total = 0;
			for (Item item : order.items) {
				double price = item.price;
				for (Rule rule : rules)
					price = rule.apply(item, price);
				total += price;
			}
			order.total = total;
		}
	}

	static final class RenderInvoice implements Step {
		public void run(Order order) {
			StringBuilder text = new StringBuilder();
			for (Item item : order.items)
				text.append(item.id).append(';').append(Math.round(item.price * 100)).append('\n');
			text.append("total ").append(Math.round(order.total * 100)).append('\n');
			order.invoice = text.toString();
		}
	}

	static final class SignInvoice implements Step {
		public void run(Order order) throws Exception {
			MessageDigest digest = MessageDigest.getInstance("SHA-256");
			order.signature = digest.digest(order.invoice.getBytes(StandardCharsets.UTF_8));
		}
	}

	static final class AppendJournal implements Step {
		private final FileOutputStream file;

		AppendJournal(String path) throws IOException {
			file = new FileOutputStream(path);
		}

		public void run(Order order) throws IOException {
			for (int i = 0; i < 25; i++)
				file.write(order.signature);
			if (file.getChannel().position() > (4 << 20))
				file.getChannel().truncate(0);
		}
	}

	static void handleOrder(Step[] steps) throws Exception {
		Order order = new Order();
		for (Step step : steps)
			step.run(order);
	}

	static void serve(int number, long endNanos) {
		try {
			Step[] steps = {
				new PickItems(), new QuotePrice(), new RenderInvoice(), new SignInvoice(),
				new AppendJournal("/tmp/journal-" + number)
			};
			while (System.nanoTime() < endNanos)
				handleOrder(steps);
		} catch (Exception e) {
			e.printStackTrace();
		}
	}

	public static void main(String[] args) {
		long seconds = args.length > 0 ? Long.parseLong(args[0]) : 600;
		long endNanos = System.nanoTime() + seconds * 1_000_000_000L;
		Thread second = new Thread(() -> serve(2, endNanos), "shop-2");
		second.setDaemon(true);
		second.start();
		serve(1, endNanos);
	}
}
