import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;

/** Garbage for the collector, from one thread and from eight: what is kept must be what was put there. */
public class Churn {
    static int number = 0;

    static void told(String name, boolean good) { System.out.println((good ? "ok " : "not ok ") + ++number + " - " + name); }

    /** Keeps every 16th array for a while, and adds up what is in it when it goes. */
    static long churn(int rounds, int seed) {
        List<byte[]> kept = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            byte[] bytes = new byte[16 + (i * 31 + seed) % 4000];
            bytes[bytes.length - 1] = (byte) i;
            if (i % 16 == 0) kept.add(bytes);
            if (kept.size() > 2000) {
                for (byte[] b : kept) sum += b[b.length - 1] + b.length;
                kept = new ArrayList<>();
            }
        }
        return sum;
    }

    static long inThreads(int threads, int rounds) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Long>> futures = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            final int seed = t;
            futures.add(pool.submit(() -> churn(rounds, seed)));
        }
        long sum = 0;
        for (Future<Long> f : futures) sum += f.get();
        pool.shutdown();
        return pool.awaitTermination(60, TimeUnit.SECONDS) ? sum : -1;
    }

    static long one(int threads, int rounds) {
        long sum = 0;
        for (int t = 0; t < threads; t++) sum += churn(rounds, t);
        return sum;
    }

    static boolean strings() {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < 300000; i++) map.merge("key" + i % 70000, 1, Integer::sum);
        int sum = 0;
        for (int n : map.values()) sum += n;
        return map.size() == 70000 && sum == 300000;
    }

    static boolean outOfMemory() {
        try {
            List<long[]> all = new ArrayList<>();
            while (true) all.add(new long[1 << 20]);
        } catch (OutOfMemoryError e) {
            return true;
        }
    }

    static boolean manyThreads() throws Exception {
        CRC32[] sums = new CRC32[200];
        Thread[] threads = new Thread[sums.length];
        for (int i = 0; i < threads.length; i++) {
            final int n = i;
            threads[i] = new Thread(() -> { sums[n] = new CRC32(); sums[n].update(new byte[1000]); });
            threads[i].start();
        }
        for (Thread t : threads) t.join();
        for (CRC32 sum : sums) if (sum.getValue() != sums[0].getValue()) return false;
        return true;
    }

    public static void main(String[] args) throws Exception {
        told("one thread", churn(1000000, 0) == churn(1000000, 0));
        told("eight threads hold what one does", inThreads(8, 200000) == one(8, 200000));
        told("two hundred threads that end", manyThreads());
        told("strings in a map", strings());
        told("out of memory is an exception", outOfMemory());
        told("and the heap is good after it", churn(300000, 3) == churn(300000, 3));
    }
}
