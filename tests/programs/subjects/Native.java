import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** What of a JVM takes memory outside its heap: direct buffers, mappings, sockets, zlib, JNI, children. */
public class Native {
    static int number = 0;

    static native long blocks(int threads, int rounds);
    static native byte[] backwards(byte[] bytes);
    static native int called(Native self);

    int count = 0;
    void callback() { count++; }

    static void told(String name, boolean good) { System.out.println((good ? "ok " : "not ok ") + ++number + " - " + name); }

    static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    static boolean direct() {
        for (int i = 0; i < 2000; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 16);
            buffer.putLong(i * 8, i);
            if (buffer.getLong(i * 8) != i) return false;
        }
        return true;
    }

    static boolean mapped() throws Exception {
        Path path = Files.createTempFile("mapped", null);
        byte[] bytes = random(8 << 20);
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            MappedByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, bytes.length);
            map.put(bytes);
            map.force();
        }
        boolean same = Arrays.equals(bytes, Files.readAllBytes(path));
        Files.delete(path);
        return same;
    }

    static boolean socket() throws Exception {
        byte[] bytes = random(4 << 20);
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Thread sender = new Thread(() -> {
                try (SocketChannel channel = SocketChannel.open(server.getLocalAddress())) {
                    ByteBuffer all = ByteBuffer.wrap(bytes);
                    while (all.hasRemaining()) channel.write(all);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            });
            sender.start();
            ByteBuffer got = ByteBuffer.allocate(bytes.length);
            try (SocketChannel channel = server.accept()) {
                while (got.hasRemaining() && channel.read(got) >= 0) { }
            }
            sender.join();
            return Arrays.equals(bytes, got.array());
        }
    }

    static boolean zlib() throws Exception {
        byte[] bytes = random(1 << 20);
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) { out.write(bytes); }
        return Arrays.equals(bytes, new GZIPInputStream(new ByteArrayInputStream(packed.toByteArray())).readAllBytes());
    }

    static boolean children() throws Exception {
        for (int i = 0; i < 20; i++) {
            Process process = new ProcessBuilder("/bin/sh", "-c", "echo child; exit 7").start();
            String line = new String(process.getInputStream().readAllBytes());
            String said = new String(process.getErrorStream().readAllBytes());
            if (!line.equals("child\n") || !said.isEmpty() || process.waitFor() != 7) return false;
        }
        return true;
    }

    static boolean reversed() {
        byte[] bytes = random(1 << 20);
        return Arrays.equals(bytes, backwards(backwards(bytes)));
    }

    public static void main(String[] args) throws Exception {
        System.loadLibrary("subject");
        Native self = new Native();
        told("direct buffers", direct());
        told("a mapped file", mapped());
        told("a socket", socket());
        told("zlib", zlib());
        told("children", children());
        told("blocks of JNI's threads", blocks(8, 20000) == 8 * 20000L);
        told("arrays by JNI", reversed());
        told("threads of C that call Java", called(self) == 4 && self.count == 4000);
    }
}
