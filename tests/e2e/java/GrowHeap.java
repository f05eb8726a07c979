// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.util.ArrayList;
import java.util.List;

/**
 * A heap that grows, by three methods, each with a class of its own, as 3 : 2 : 1: what they allocate is kept, and is large enough for regions of its own,
 * so that nobody copies it later. It warms up, prints READY, and waits for the file that its argument names; then it grows,
 * prints "TRUTH bytes of growThree, growTwo, growOne", and sleeps.
 */
public class GrowHeap {
    static final int BYTES = 640 << 10; // more than half of a region of G1, whose least size is 1 MiB
    static final int ROUNDS = 100;
    static final int REFERENCE_BYTES = 4; // of a heap of less than 32 GiB
    static final List<Object> kept = new ArrayList<>();
    static long sink;

    static byte[] growThree(int bytes) {
        return new byte[bytes];
    }

    static long[][] growTwo(int bytes) {
        return new long[bytes / REFERENCE_BYTES][];
    }

    static GrowHeap[] growOne(int bytes) {
        return new GrowHeap[bytes / REFERENCE_BYTES];
    }

    static void warmUp() throws Exception {
        for (int i = 0; i < 400_000; i++)
            sink += growThree(16).length + growTwo(16).length + growOne(16).length;
        Thread.sleep(1000); // compilers are done
    }

    public static void main(String[] args) throws Exception {
        warmUp();
        System.out.println("READY");
        while (!new File(args[0]).exists())
            Thread.sleep(20);
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < 3; i++)
                kept.add(growThree(BYTES));
            for (int i = 0; i < 2; i++)
                kept.add(growTwo(BYTES));
            kept.add(growOne(BYTES));
            Thread.sleep(20);
        }
        System.out.println("TRUTH " + 3L * ROUNDS * BYTES + " " + 2L * ROUNDS * BYTES + " " + 1L * ROUNDS * BYTES);
        Thread.sleep(600_000);
    }
}
