"""Recorded in workers/: workers that keep a thumbnail of each image that they decoded, until the container's memory is full.

    memprof run --stacks=sample -o workers -- python3 -S workers.py     # in a cgroup with memory.max of 192 MiB"""
import multiprocessing
from multiprocessing.connection import wait


class Images:
    def __init__(self):
        self.kept = {}

    def thumbnail(self, number):
        return bytes(64 << 10)

    def decode(self, number):
        image = bytearray(1 << 20)
        self.kept[number] = self.thumbnail(number)
        return len(image)


def work(images, connection):
    while True:
        connection.send(images.decode(connection.recv()))


def main():
    fork = multiprocessing.get_context("fork")
    images, number, ours = Images(), 0, []
    for _ in range(3):
        mine, theirs = fork.Pipe()
        fork.Process(target=work, args=(images, theirs), daemon=True).start()
        theirs.close()
        ours.append(mine)
        mine.send(number)
    while True:
        for ready in wait(ours):
            ready.recv()        # EOFError: the worker has ended
            number += 1
            ready.send(number)


main()
