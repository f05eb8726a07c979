// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.ThreadLocalRandom;
/** Some threads, busy in as many distinct stacks as asked for, all of one depth. Arguments: threads, stacks (at most 16,384). */
public class Distinct {
    static final int LEVELS = 14;
    static volatile long sink;
    static void even(int path, int level) { next(path, level); sink = level; }
    static void odd(int path, int level) { next(path, level); sink = level; }
    static void next(int path, int level) {
        if (level == 0)
            work();
        else if ((path & 1) == 0)
            even(path >> 1, level - 1);
        else
            odd(path >> 1, level - 1);
        sink = path;
    }
    static void work() {
        long sum = 0;
        for (int i = 0; i < 100_000; i++)
            sum += i % 7;
        sink = sum;
    }
    public static void main(String[] arguments) {
        int stacks = Integer.parseInt(arguments[1]);
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++)
            new Thread(() -> {
                while (true)
                    next(ThreadLocalRandom.current().nextInt(stacks), LEVELS);
            }).start();
    }
}
