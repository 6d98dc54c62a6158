"""Debug files are found if they are installed or servers of debuginfod have them: a file with the build ID gives names, any other file
is ignored, and a server that does not answer is asked once.

test_debuginfod.py TEST, with MEMPROF_REPORT and MAKE_OWN_LOG set. Exit status 77: a requirement is missing."""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

REPORT, MAKE = os.environ["MEMPROF_REPORT"], os.environ["MAKE_OWN_LOG"]
TIMEOUT = 60
NAMED = "load (make_own_log.c:86)"


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


def skip(why):
    print(why)
    sys.exit(77)


class Server:
    """Answers each request with this content. None: the file is unknown. "": the server does not answer."""

    def __init__(self, content):
        self.content, self.asked, self.open = content, [], []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.socket.accept()
            threading.Thread(target=self.answer, args=[peer], daemon=True).start()

    def answer(self, peer):
        self.asked.append(peer.recv(65536).split(b"\r\n")[0].decode())
        self.open.append(peer)              # keeps the connection open
        if self.content == "":
            return
        status, body = ("404 no", b"") if self.content is None else ("200 OK", self.content)
        peer.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status.encode(), len(body)) + body)


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


class Recorded:
    """A log of a program that was stripped after it was recorded."""

    def __init__(self, folder):
        self.folder, self.program, self.log = folder, os.path.join(folder, "program"), os.path.join(folder, "log.zst")
        shutil.copy(MAKE, self.program)
        self.whole = content_of(self.program)
        self.record()

    def record(self):
        subprocess.run([self.program, self.log], check=True)
        subprocess.run(["strip", self.program], check=True)

    def stacks(self, urls, logs=1, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD")}
        cache = tempfile.mkdtemp(dir=self.folder)
        environment.update(DEBUGINFOD_URLS=urls, DEBUGINFOD_CACHE_PATH=cache, **variables)
        names = [shutil.copy(self.log, f"{self.log}.{i}.zst") for i in range(logs)]
        return subprocess.run([REPORT, "peaks", "--tree", *names], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=True,
                              env=environment)


def here(folder):
    """Skips the test if the library that asks servers is not installed."""
    server = Server(None)
    Recorded(tempfile.mkdtemp(dir=folder)).stacks(server.url)
    return bool(server.asked)


def debug_file_with_the_build_id_gives_names(folder):
    r = Recorded(folder)
    server = Server(r.whole)
    check(NAMED in r.stacks(server.url).stdout, "no names")
    check(len(server.asked) == 1, "asked:", server.asked)


def debug_file_with_another_build_id_is_ignored(folder):
    r = Recorded(folder)
    at = r.whole.index(bytes.fromhex(build_id(r.program)))
    for wrong in r.whole[:at] + b"\0" + r.whole[at + 1:], content_of("/proc/self/exe"), 5000 * b"A":
        server = Server(wrong)
        text = r.stacks(server.url).stdout
        check("program+0x" in text and "load (" not in text, "names of another file:", text)
        check(len(server.asked) == 1, "asked:", server.asked)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", notes)[1]


def server_that_does_not_answer_is_asked_once(folder):
    r = Recorded(folder)
    server = Server("")
    done = r.stacks(server.url, logs=3, DEBUGINFOD_TIMEOUT="1")
    check("program+0x" in done.stdout, "names", done.stdout)
    check(len(server.asked) == 1, "asked:", server.asked)
    check(done.stderr.count("a server of DEBUGINFOD_URLS failed: no answer in time") == 1, "said:", done.stderr)


def server_that_accepts_no_connection_is_given_up(folder):
    """A firewall that drops packets behaves like this."""
    r = Recorded(folder)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        done = r.stacks("http://127.0.0.1:%d" % full.getsockname()[1], logs=3, DEBUGINFOD_MAXTIME="1")
    check(done.stderr.count("a server of DEBUGINFOD_URLS failed: no answer in time") == 1, "said:", done.stderr)


def missing_debug_file_is_not_reported(folder):
    r = Recorded(folder)
    server = Server(None)
    check(r.stacks(server.url).stderr == "" and server.asked, "said, or not asked")


def settings_of_the_user_are_kept(folder):
    r = Recorded(folder)
    server = Server("")
    r.stacks(server.url, DEBUGINFOD_TIMEOUT="1", DEBUGINFOD_RETRY_LIMIT="2")
    check(len(server.asked) == 3, "asked:", server.asked)


def fifo_in_the_debug_directory_does_not_block(folder):
    r = Recorded(folder)
    number = build_id(r.program)
    place = "/usr/lib/debug/.build-id/" + number[:2]
    script = f'mount -t tmpfs none /usr/lib/debug && mkdir -p {place} && mkfifo {place}/{number[2:]}.debug && echo laid && exec "$0" peaks --tree "$1"'
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, REPORT, r.log], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT)
    if not done.stdout.startswith("laid"):
        skip("nothing can be mounted on /usr/lib/debug: " + done.stdout)
    check("program+0x" in done.stdout, done.stdout)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        if not here(place):
            skip("libdebuginfod is not here")
        globals()[sys.argv[1]](tempfile.mkdtemp(dir=place))
