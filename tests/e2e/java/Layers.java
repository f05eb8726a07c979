// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.locks.LockSupport;

/**
 * Chains of eight layers, each of which calls the next one and nothing else that is named like it. First argument:
 * "osr": layers are called seldom and loop long, so that compiled code takes over in the middle of their loops, which
 * then call the next layer; "deopt": all layers are compiled for a class without subclasses, and while the last one
 * runs one is loaded, so that the frames on the stack are of code that was given up; "virtual": on a virtual thread
 * (JDK 21 and up) that yields in the last layer, again and again. Second: seconds. Prints READY when it is warmed up.
 */
public class Layers {
    public static volatile long sink;

    public static long burn(long x, int rounds) {
        for (int i = 0; i < rounds; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    /* ---- on-stack replacement ---- */

    static class Osr {
        static final int ROUNDS = 1 << 22;

        static long layer0(long x) {
            for (int i = 0; i < ROUNDS; i++)
                x = (i & 1023) == 0 ? step(i == ROUNDS / 2, 1, x) : x * 31 + i;
            return x;
        }

        static long layer1(long x) {
            for (int i = 0; i < ROUNDS; i++)
                x = (i & 1023) == 0 ? step(i == ROUNDS / 2, 2, x) : (x ^ i) * 17;
            return x;
        }

        static long layer2(long x) {
            double value = x;
            for (int i = 0; i < ROUNDS; i++)
                value = (i & 1023) == 0 ? step(i == ROUNDS / 2, 3, (long) value) : value * 0.999 + i;
            return (long) value;
        }

        static long layer3(long x) {
            long[] values = new long[64];
            for (int i = 0; i < ROUNDS; i++)
                values[i & 63] += (i & 1023) == 0 ? step(i == ROUNDS / 2, 4, x) : i;
            return values[7];
        }

        static long layer4(long x) {
            for (int i = 0; i < ROUNDS; i++) {
                try {
                    x = (i & 1023) == 0 ? step(i == ROUNDS / 2, 5, x) : x + 1_000 / ((i & 0xffff) - 77);
                } catch (ArithmeticException e) {
                    x++;
                }
            }
            return x;
        }

        static long layer5(long x) {
            long a = x, b = x * 3, c = x * 5, d = x * 7, e = x * 11, f = x * 13;
            for (int i = 0; i < ROUNDS; i++) {
                a = (i & 1023) == 0 ? step(i == ROUNDS / 2, 6, a) : a + b;
                b ^= c;
                c += d;
                d ^= e;
                e += f;
                f ^= a;
            }
            return a + b + c + d + e + f;
        }

        static long layer6(long x) {
            for (int i = 0; i < ROUNDS / 1_000; i++)
                for (int j = 0; j < 1_000; j++)
                    x = j == 500 ? step(i == 2_000, 7, x) : x * 5 + j;
            return x;
        }

        static long layer7(long x) {
            return burn(x, 10 * ROUNDS);
        }

        /** Called often, so that no code is made for a branch that is never taken; goes on once. */
        static long step(boolean goesOn, int layer, long x) {
            switch (goesOn ? layer : 0) {
            case 1: return layer1(x);
            case 2: return layer2(x);
            case 3: return layer3(x);
            case 4: return layer4(x);
            case 5: return layer5(x);
            case 6: return layer6(x);
            case 7: return layer7(x);
            default: return x + 1;
            }
        }

        /** What a new copy of this class is called by. */
        public static class Round implements Runnable {
            @Override
            public void run() {
                sink += layer0(sink);
            }
        }
    }

    /* ---- deoptimised frames ---- */

    static class Base {
        long value(long x) {
            return x + 1;
        }
    }

    static class Sub extends Base {
        @Override
        long value(long x) {
            return x - 1;
        }
    }

    static class Deopt {
        static Base base = new Base();

        static long layer0(long x, boolean isDeep) throws Exception {
            return layer1(base.value(x), isDeep) + base.value(x);
        }

        static long layer1(long x, boolean isDeep) throws Exception {
            long y = base.value(x * 3), z = base.value(x * 5);
            return layer2(y, isDeep) + base.value(z);
        }

        static long layer2(long x, boolean isDeep) throws Exception {
            return base.value(layer3(x, isDeep)) ^ x;
        }

        static long layer3(long x, boolean isDeep) throws Exception {
            double half = base.value(x) * 0.5;
            return layer4(x, isDeep) + (long) half;
        }

        static long layer4(long x, boolean isDeep) throws Exception {
            try {
                return base.value(layer5(x, isDeep));
            } catch (IllegalStateException e) {
                return base.value(x);
            }
        }

        static long layer5(long x, boolean isDeep) throws Exception {
            long sum = 0;
            for (int i = 0; i < 2; i++)
                sum += i == 0 ? base.value(x) : layer6(x, isDeep);
            return sum;
        }

        static long layer6(long x, boolean isDeep) throws Exception {
            return layer7(base.value(x), isDeep) + 1;
        }

        static long layer7(long x, boolean isDeep) throws Exception {
            if (isDeep)
                Class.forName("Layers$Sub", true, Deopt.class.getClassLoader());
            return base.value(burn(x, isDeep ? 10_000_000 : 1));
        }

        /** What a new copy of these classes is called by. */
        public static class Round implements Runnable {
            @Override
            public void run() {
                try {
                    for (int i = 0; i < 6_000; i++)
                        sink += layer0(i, false);
                    sink += layer0(7, true);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    /** Has classes of its own of those that are to be new each time. */
    static class Fresh extends ClassLoader {
        Fresh() {
            super(Layers.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("Layers") || !name.startsWith("Layers$"))
                return super.loadClass(name, resolve);
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : define(name);
        }

        Class<?> define(String name) throws ClassNotFoundException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (InputStream in = getResourceAsStream(name + ".class")) {
                for (int next = in.read(); next >= 0; next = in.read())
                    bytes.write(next);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
            return defineClass(name, bytes.toByteArray(), 0, bytes.size());
        }
    }

    static void onFreshClasses(String name) throws Exception {
        ((Runnable) new Fresh().loadClass(name).getDeclaredConstructor().newInstance()).run();
    }

    /* ---- virtual threads ---- */

    static class Virtual {
        static final int ROUNDS = 20_000;

        static long layer0(long x) {
            return burn(layer1(x + 1), ROUNDS);
        }

        static long layer1(long x) {
            long y = x * 3, z = x * 5;
            return burn(layer2(y), ROUNDS) + z;
        }

        static long layer2(long x) {
            double half = x * 0.5;
            return burn(layer3(x), ROUNDS) + (long) half;
        }

        static long layer3(long x) {
            try {
                return burn(layer4(x), ROUNDS);
            } catch (IllegalStateException e) {
                return x;
            }
        }

        static long layer4(long x) {
            long a = x, b = x * 3, c = x * 5, d = x * 7, e = x * 11, f = x * 13;
            return burn(layer5(a), ROUNDS) + a + b + c + d + e + f;
        }

        static long layer5(long x) {
            return burn(layer6(x ^ 5), ROUNDS);
        }

        static long layer6(long x) {
            return burn(layer7(x) + 1, ROUNDS);
        }

        static long layer7(long x) {
            for (int i = 0; i < 4; i++) {
                x = burn(x, 10 * ROUNDS);
                if ((x >>> 40 & 3) != 0)
                    LockSupport.parkNanos(1_000);
            }
            return x;
        }
    }

    static void onVirtualThread(Runnable body) throws Exception {
        ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body)).join();
    }

    static void rounds(String mode, long endNanos) {
        try {
            while (System.nanoTime() < endNanos) {
                if (mode.equals("virtual"))
                    sink += Virtual.layer0(sink);
                else
                    onFreshClasses(mode.equals("osr") ? "Layers$Osr$Round" : "Layers$Deopt$Round");
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        String mode = arguments[0];
        long endNanos = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000_000L;
        Thread ready = new Thread(() -> {
            LockSupport.parkNanos(2_000_000_000L);
            System.out.println("READY");
        });
        ready.start();
        if (mode.equals("virtual"))
            onVirtualThread(() -> rounds(mode, endNanos));
        else
            rounds(mode, endNanos);
    }
}
