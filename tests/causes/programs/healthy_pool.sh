# cause: none
# source: a healthy program; nearly: copied_pages worker workers
# host: yes
cat > pool.py <<'P'
import multiprocessing, time
table = b"x" * (60 << 20)    # workers read it without copies


def answer(i):
    time.sleep(0.2)
    return len(bytearray(10 << 20)) + table[i]


if __name__ == "__main__":
    pool = multiprocessing.get_context("fork").Pool(3)
    print(sum(pool.map(answer, range(24), chunksize=1)))
    pool.close()
    pool.join()
P
python3 pool.py
