// SPDX-License-Identifier: Apache-2.0

/**
 * Burns a CPU below DEPTH compiled frames of Depth.descend, for ever. Argument: DEPTH. Run with
 * dontinline for Depth.*.
 */
public class Depth {
    static volatile double sink = 1.5;

    static void descend(int left, long endNanos) {
        if (left > 1)
            descend(left - 1, endNanos);
        else
            burn(endNanos);
        sink += left; // not a tail call
    }

    static void burn(long endNanos) {
        while (System.nanoTime() < endNanos)
            grind();
    }

    static void grind() {
        double value = sink;
        for (int i = 0; i < 100_000; i++)
            value = value * 1.0000001 + 0.5;
        sink = value;
    }

    public static void main(String[] arguments) {
        int depth = Integer.parseInt(arguments[0]);
        // The way down is walked again and again, so that it is compiled code, not interpreted.
        for (int i = 0; i < 20_000; i++)
            descend(depth, 0);
        for (;;)
            descend(depth, System.nanoTime() + 50_000_000);
    }
}
