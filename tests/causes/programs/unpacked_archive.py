# cause: holder
# owner: unpack|decompress
# change: stream|chunk
# source: the kind of importers that unpack a whole archive to count its lines
# host: yes
import gzip
import io
import json
import time

PART, PARTS = 1_000_000, 300


def pack():
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as archive:
        for _ in range(PARTS):
            archive.write(bytes(PART))
    return file.getvalue()


def unpack(data):
    return gzip.decompress(data)


def count_lines(data):
    text = unpack(data)
    time.sleep(1)
    return text.count(b"\n")


count_lines(pack())
print(json.dumps({"bytes": [PART * PARTS, 2 * PART * PARTS]}))
