# changed: nothing that matters: the file, class and functions are renamed, documents have other random sizes and come in another order, the index is built first
# cause: none
# owner: .
# change: .
# larger: after
# host: yes
import importlib
import json
import os
import random
import sys
import tempfile
import time

run = sys.argv[1]
SOURCE = '''
import collections


class STORE:
    """The documents used last, at most `bound` bytes of them."""

    def __init__(self, bound):
        self.bound, self.held = bound, 0
        self.documents = collections.OrderedDict()

    def FETCH(self, key, size):
        if key in self.documents:
            self.documents.move_to_end(key)
            return self.documents[key]
        document = LOAD(key, size)
        self.held += size
        while self.held > self.bound:
            self.held -= len(self.documents.popitem(last=False)[1])
        self.documents[key] = document
        return document


def LOAD(key, size):
    return bytearray(key.to_bytes(4, "little") * (size // 4 + 1))[:size]


def INDEX(entries):
    return [bytes([n % 251]) * 2000 for n in range(entries)]
'''
NAMES = {"before": ("documents", "Store", "fetch", "load", "build_index"), "after": ("pagecache", "LruPages", "lookup", "read_from_disk", "make_terms")}
module, store, fetch, load, index = NAMES[run]
text = SOURCE.replace("STORE", store).replace("FETCH", fetch).replace("LOAD", load).replace("INDEX", index)
if run == "after":
    text = "# LRU of pages.\n\n" + text.replace("import collections\n", "import collections\nimport bisect\n")
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, module + ".py"), "w", encoding="utf-8") as f:
        f.write(text)
    sys.path.insert(0, folder)
    code = importlib.import_module(module)
    sys.path.remove(folder)

BOUND, DOCUMENTS, INDEXED = 80_000_000, 1500, 15_000


def run_requests(holder, seed):
    rng = random.Random(seed)
    sizes = [rng.randint(40_000, 260_000) for _ in range(DOCUMENTS)]
    get = getattr(holder, fetch)
    for n in range(1100):
        key = rng.randrange(DOCUMENTS)
        get(key, sizes[key])
        time.sleep(0.001)


def main():
    make = getattr(code, index)
    if run == "after":
        terms = make(INDEXED)
    holder = getattr(code, store)(BOUND)
    run_requests(holder, 5 if run == "before" else 6)
    if run == "before":
        terms = make(INDEXED)
    run_requests(holder, 7 if run == "before" else 8)
    return holder.held, len(terms)


print(main(), file=sys.stderr)
print(json.dumps({"bytes": []}))
