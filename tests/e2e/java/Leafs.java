// SPDX-License-Identifier: Apache-2.0
// Programs whose leafs are stubs: what copies arrays, digests and compares is no compiled method.
import java.security.MessageDigest;
import java.util.Arrays;

public class Leafs {
    static volatile long sink;

    static void digests(MessageDigest digest, byte[] bytes) {
        for (int i = 0; i < 20; i++) digest.update(bytes);
        sink += digest.digest()[0];
    }

    static void copies(byte[] from, byte[] to) {
        for (int i = 0; i < 400; i++) System.arraycopy(from, i & 63, to, 0, from.length - 64);
        sink += to[5];
    }

    static void sorts(int[] numbers, int[] room) {
        System.arraycopy(numbers, 0, room, 0, numbers.length);
        Arrays.sort(room);
        sink += room[7];
    }

    static void equals(byte[] a, byte[] b) {
        for (int i = 0; i < 400; i++) sink += Arrays.equals(a, b) ? 1 : 0;
    }

    static void rounds(MessageDigest digest, byte[] bytes, byte[] other, int[] numbers, int[] room) {
        digests(digest, bytes);
        copies(bytes, other);
        sorts(numbers, room);
        equals(bytes, bytes.clone());
    }

    public static void main(String[] args) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] bytes = new byte[16384], other = new byte[16384];
        int[] numbers = new int[2000], room = new int[2000];
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;

        for (int i = 0; i < numbers.length; i++) numbers[i] = i * 7919 % 2003;
        System.out.println("READY");
        System.out.flush();
        while (System.nanoTime() < end) rounds(digest, bytes, other, numbers, room);
    }
}
