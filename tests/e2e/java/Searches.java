// SPDX-License-Identifier: Apache-2.0
/** Looks for strings in strings; C2's code for that moves the stack pointer about. usage: Searches SECONDS */
public final class Searches {
    private static int search(String text, String wanted) {
        return text.indexOf(wanted);
    }

    private static int one(String text, String wanted) {
        return search(text, wanted) + 1;
    }

    private static int other(String text, String wanted) {
        return search(text, wanted) - 1;
    }

    private static int rounds(String[] texts, String[] wanted) {
        int sum = 0;
        for (int i = 0; i < 4096; i++) {
            String text = texts[i % texts.length];
            sum += one(text, wanted[i % wanted.length]) + other(text, wanted[(i + 3) % wanted.length]);
        }
        return sum;
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        String[] texts = {"name7919", "a text that is longer than the others, by far, and has all of it", "xyz"};
        String[] wanted = {"all of it", "91", "none of the others", "z", "longer than"};
        int sum = 0;
        System.out.println("READY");
        while (System.nanoTime() < end) sum += rounds(texts, wanted);
        System.out.println(sum);
    }
}
