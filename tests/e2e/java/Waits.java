// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Selector;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait in known ways, each in a method of its own. Prints READY; an argument is the seconds it lasts. */
public class Waits {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile long sink;

    interface Body {
        void run() throws Exception;
    }

    static void thread(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                while (true)
                    body.run();
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void burn(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() < end)
            sink++;
    }

    /** Three of four parts of its time in one, one in the other. */
    static void sleepLong() throws Exception {
        Thread.sleep(30);
    }

    static void sleepShort() throws Exception {
        Thread.sleep(10);
    }

    static void doPark() {
        LockSupport.parkNanos(20_000_000);
    }

    static void doSync() {
        synchronized (MONITOR) {
            sink++;
        }
    }

    static void doReentrant() {
        LOCK.lock();
        try {
            sink++;
        } finally {
            LOCK.unlock();
        }
    }

    static void doRead(InputStream in) throws Exception {
        if (in.read() < 0)
            throw new IllegalStateException("closed");
    }

    static void doSelect(Selector selector) throws Exception {
        selector.select(25);
    }

    static void doTake(ArrayBlockingQueue<Integer> queue) throws Exception {
        queue.take();
    }

    static void doBurn() throws Exception {
        burn(8_000_000);
        Thread.sleep(32);
    }

    static void doFsync(FileChannel file) throws Exception {
        file.write(ByteBuffer.wrap(new byte[] {1}), 0);
        file.force(true);
    }

    static void sockets() throws Exception {
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept();
        InputStream in = client.getInputStream();
        OutputStream out = accepted.getOutputStream();
        thread("t-read", () -> doRead(in));
        thread("t-server", () -> {
            Thread.sleep(15);
            out.write(1);
        });
    }

    public static void main(String[] args) throws Exception {
        Selector selector = Selector.open();
        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(4);
        thread("t-sleep", () -> {
            sleepLong();
            sleepShort();
        });
        thread("t-park", Waits::doPark);
        thread("t-holder", () -> {
            synchronized (MONITOR) {
                Thread.sleep(15);
            }
            Thread.sleep(5);
        });
        thread("t-sync", () -> {
            doSync();
            Thread.sleep(2);
        });
        thread("t-rlholder", () -> {
            LOCK.lock();
            try {
                Thread.sleep(12);
            } finally {
                LOCK.unlock();
            }
            Thread.sleep(8);
        });
        thread("t-reentrant", () -> {
            doReentrant();
            Thread.sleep(2);
        });
        thread("t-select", () -> doSelect(selector));
        thread("t-take", () -> doTake(queue));
        thread("t-put", () -> {
            Thread.sleep(11);
            queue.put(1);
        });
        thread("t-burn", Waits::doBurn);
        // A file system in memory has nothing to wait for: then it does not wait, which is the truth as well.
        FileChannel file = new RandomAccessFile(File.createTempFile("waits", null), "rw").getChannel();
        thread("t-fsync", () -> {
            doFsync(file);
            Thread.sleep(20);
        });
        sockets();
        Thread idle = new Thread(() -> {
            synchronized (Waits.class) {
                try {
                    Waits.class.wait();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }, "t-idle");
        idle.setDaemon(true);
        idle.start();
        System.out.println("READY");
        Thread.sleep(Long.parseLong(args[0]) * 1000);
    }
}
