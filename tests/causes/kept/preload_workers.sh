# cause: copied_pages
# owner: worker|score_all|python
# change: freeze|fork|copy|shared|refcount|reference|mmap|array
# source: the kind of preloading servers whose workers copy the parent's objects as they count references
python3 - <<'EOF'
import json
import os
import sys
import time


def load_catalogue():
    return [str(i) * 80 for i in range(100000, 190000)]


def score_all(catalogue):
    kept = [item for item in catalogue if item]
    return sum(map(len, kept))


def private_bytes():
    with open("/proc/self/smaps_rollup") as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith("Private_Dirty"))


def worker(catalogue, answer):
    before = private_bytes()
    score_all(catalogue)
    os.write(answer, b"%d\n" % (private_bytes() - before))
    time.sleep(3)


catalogue = load_catalogue()
time.sleep(1)
read, write = os.pipe()
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        worker(catalogue, write)
        sys.stdout.flush()
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
copied = list(map(int, os.read(read, 4096).split()))
data = sum(map(sys.getsizeof, catalogue))
print(json.dumps({"bytes": [sum(copied), max(copied), 4 * data, data]}))
EOF
