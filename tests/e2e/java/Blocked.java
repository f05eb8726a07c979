// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Threads that are blocked for good, each in a way of its own, below a chain of methods that has been called often
 * enough to be compiled, some of them inlined. Prints READY when all of them wait. Argument: seconds that it lasts.
 */
public class Blocked {
    static final int DEPTH = 6;
    static final int WARM_UP = 20_000;
    static final long HOUR_MS = 3_600_000;
    static final Object MONITOR = new Object();
    static final Object NOTIFIED = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final StampedLock STAMPED = new StampedLock();
    static volatile long sink;

    interface Body {
        void run() throws Exception;
    }

    static void down(int left, Body body) throws Exception {
        if ((left & 1) == 0)
            even(left, body);
        else
            odd(left, body);
        sink++;
    }

    static void even(int left, Body body) throws Exception {
        if (left > 0)
            down(left - 1, body);
        else
            body.run();
        sink++;
    }

    static void odd(int left, Body body) throws Exception {
        down(left - 1, body);
        sink++;
    }

    static void thread(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                down(DEPTH, body);
                System.exit(1); // nobody ends its wait
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void doWait(long ms) throws Exception {
        synchronized (NOTIFIED) {
            NOTIFIED.wait(ms);
        }
    }

    static void doSynchronized() {
        synchronized (MONITOR) {
            sink++;
        }
    }

    static synchronized void inMethod() {
        sink++;
    }

    static void doCondition() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        lock.lock();
        condition.await();
    }

    public static void reflected() throws Exception {
        LockSupport.park(MONITOR);
    }

    /** Blocks in its initialiser, which the VM calls. */
    static class Initialiser {
        static long value = 1;

        static {
            LockSupport.park();
        }
    }

    static void sockets() throws Exception {
        ServerSocket server = new ServerSocket(0, 4, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept();
        InputStream in = client.getInputStream();
        thread("b-read", () -> {
            sink += in.read();
            accepted.close();
        });
        thread("b-accept", () -> server.accept().close());
        Selector selector = Selector.open();
        thread("b-select", selector::select);
    }

    static void queues() {
        thread("b-take", () -> new ArrayBlockingQueue<Integer>(4).take());
        thread("b-poll", () -> new LinkedBlockingDeque<Integer>().poll(1, TimeUnit.HOURS));
        thread("b-handover", () -> new SynchronousQueue<Integer>().put(1));
        thread("b-future", () -> new CompletableFuture<Integer>().get());
    }

    static void locks() {
        LOCK.lock();
        STAMPED.writeLock();
        thread("b-lock", LOCK::lock);
        thread("b-stamped", STAMPED::readLock);
        thread("b-condition", Blocked::doCondition);
        thread("b-semaphore", () -> new Semaphore(0).acquire());
        thread("b-latch", () -> new CountDownLatch(1).await(1, TimeUnit.HOURS));
        thread("b-barrier", () -> new CyclicBarrier(2).await());
        thread("b-sync", Blocked::doSynchronized);
        thread("b-syncmethod", Blocked::inMethod);
        thread("b-wait", () -> doWait(0));
        thread("b-waittime", () -> doWait(HOUR_MS));
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < WARM_UP; i++) {
            down(DEPTH, () -> sink++);
            LockSupport.parkNanos(1);
        }
        synchronized (Blocked.class) {
            synchronized (MONITOR) {
                thread("b-park", LockSupport::park);
                thread("b-sleep", () -> Thread.sleep(HOUR_MS));
                thread("b-join", () -> Thread.currentThread().join());
                thread("b-clinit", () -> sink += Initialiser.value);
                thread("b-reflect", () -> Blocked.class.getMethod("reflected").invoke(null));
                thread("b-privileged", () -> AccessController.doPrivileged((PrivilegedAction<Void>) () -> {
                    LockSupport.park();
                    return null;
                }));
                locks();
                queues();
                sockets();
                Thread.sleep(1_000);
                System.out.println("READY");
                Thread.sleep(Long.parseLong(args[0]) * 1_000);
            }
        }
    }
}
