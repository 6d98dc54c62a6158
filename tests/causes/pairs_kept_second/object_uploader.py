# changed: the multipart uploader reads all parts of an object before the first upload instead of a window of six parts at a time
# cause: blocks
# owner: (?i)PartReader|read_part|next_window|MultipartUploader|upload_object
# change: (?i)part|window|stream|chunk|buffer|read.?ahead|bound|batch|all at once|more blocks|concurren|reuse|depth|generator
# host: yes
# larger: after
import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor

PART = 5 * 1024 * 1024


class PartReader:
    def __init__(self, parts):
        self.parts = parts
        self.position = 0

    def read_part(self):
        n = self.position
        self.position += 1
        return bytearray((b"%08d" % n) * (PART // 8))

    def next_window(self, count):
        window = []
        while len(window) < count and self.position < self.parts:
            window.append(self.read_part())
        return window


class MultipartUploader:
    def __init__(self, depth):
        self.depth = depth
        self.most = 0
        self.pool = ThreadPoolExecutor(4)

    def send_part(self, data):
        return hashlib.sha1(data).hexdigest()

    def upload_object(self, reader):
        tags = []
        while True:
            window = reader.next_window(self.depth or reader.parts)
            if not window:
                return hashlib.sha1("".join(tags).encode()).hexdigest()
            self.most = max(self.most, sum(map(len, window)))
            tags.extend(self.pool.map(self.send_part, window))
            window.clear()


def main():
    parts = 48
    uploader = MultipartUploader(depth=6 if sys.argv[1] == "before" else None)
    for name in ("backup-01.tar", "backup-02.tar"):
        print(name, uploader.upload_object(PartReader(parts))[:12])
    uploader.pool.shutdown()
    print(json.dumps({"bytes": [uploader.most, (parts - 6) * PART], "peak": uploader.most}))


if __name__ == "__main__":
    main()
