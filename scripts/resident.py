#!/usr/bin/env python3
"""Accounts for the resident memory of real programs, as memprof-report explains it.

resident.py BUILD [PROGRAM...]     the table of docs/VALIDATION.md

Runs each program that is installed under the memprof of BUILD, takes the process with the most resident memory, and prints a row:
its highest resident memory, the share of it that the reading by kind of mapping has, and the parts of that reading, in MiB. Blocks
are live blocks with their headers. Free is free memory between and above them. Mappings are the program's. Unknown is the
remainder of private memory."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
TIMEOUT = 120
COLUMNS = ["program", "RSS peak", "reading", "blocks", "free", "mappings", "stacks", "data, code", "files", "memprof", "unknown"]

SQL = """create table t (id integer primary key, name text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000)
insert into t select i, 'name ' || i, i * 0.5 from n; create index by_name on t(name); select count(*) from t where name > 'name 5';"""
PYTHON = """import json
rows = [{"id": i, "name": f"name {i}", "tags": [i % 7, i % 11]} for i in range(200000)]
print(len(json.loads(json.dumps(rows))))"""
NODE = """const m = new Map(); for (let i = 0; i < 600000; i++) m.set('key ' + i, {i, text: 'value ' + i});
console.log(m.size, Buffer.alloc(32 << 20, 1).length)"""
JAVA = """import java.util.*; class Main { public static void main(String[] a) {
Map<String, int[]> m = new HashMap<>(); for (int i = 0; i < 300000; i++) m.put("key " + i, new int[16]); System.out.println(m.size()); } }"""


def write(name, text):
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    return name


def c_file():
    functions = (f"double f{i}(double *x, int n) {{ double s = {i}; for (int k = 0; k < n; k++) s += x[k] * {i} / (k + 1); return s; }}" for i in range(4000))
    return write("large.c", "\n".join(functions))


def repository():
    subprocess.run("git init -q r && cd r && for i in $(seq 40); do seq $i 1 60000 >a$((i % 9)); git add . && "
                   "git -c user.name=a -c user.email=a@b commit -qm $i; done", shell=True, check=True)
    return "r"


def random_file(name, mib):
    with open(name, "wb") as f:
        f.write(os.urandom(mib * MIB // 4) * 4)
    return name


# name: a function that returns the command; for a server also what a client does to it
PROGRAMS = {
    "sqlite3": lambda: ["sqlite3", ":memory:", SQL],
    "python3": lambda: ["python3", "-c", PYTHON],
    "node": lambda: ["node", "-e", NODE],
    "java": lambda: ["java", "-Xmx256m", write("Main.java", JAVA)],
    "gcc": lambda: ["gcc", "-O2", "-c", c_file(), "-o", "/dev/null"],
    "git": lambda: ["git", "-C", repository(), "gc", "-q", "--aggressive"],
    "perl": lambda: ["perl", "-e", "$h{$_} = \"value $_\" for 1 .. 400000; print scalar %h"],
    "jq": lambda: ["jq", "-n", "[range(600000) | {a: ., b: \"x\\(.)\"}] | length"],
    "xz": lambda: ["xz", "-6", "-k", random_file("noise", 32)],
    "sort": lambda: ["sort", "-o", "/dev/null", random_file("lines", 64)],
    "convert": lambda: ["convert", "-size", "4000x3000", "plasma:", "-blur", "0x2", "out.png"],
    "ffmpeg": lambda: ["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=1280x720:duration=4", "-y", "out.mp4"],
    "redis-server": lambda: ["redis-server", "--port", "0", "--unixsocket", f"{os.getcwd()}/s", "--save", ""],
    "nginx": lambda: ["nginx", "-p", os.getcwd(), "-e", "error.log", "-g",
                      f"daemon off; worker_processes 2; pid {os.getcwd()}/pid;", "-c", write(f"{os.getcwd()}/nginx.conf", "events {} http { "
                      f"access_log off; server {{ listen unix:{os.getcwd()}/s; location / {{ return 200 ok; }} }} }}")],
}
CLIENTS = {
    "redis-server": lambda: subprocess.run(["redis-benchmark", *"-s s -q -n 300000 -r 300000 -d 200 -P 16 -t set".split()],
                                           stdout=subprocess.DEVNULL, check=False),
    "nginx": lambda: [subprocess.run(["curl", "-s", "--unix-socket", "s", "http://a/"], stdout=subprocess.DEVNULL, check=False) for _ in range(50)],
}


def record(build, name):
    """Runs the program in the current folder, which gets its logs."""
    command = [f"{build}/launcher/memprof", "run", "-q", "-o", "logs", "--", *PROGRAMS[name]()]
    environment = {**os.environ, "MEMPROF_LIB": f"{build}/preload/libmemprof.so"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as process:
        if name in CLIENTS:
            while not os.path.exists("s") and process.poll() is None:
                time.sleep(0.05)
            CLIENTS[name]()
            time.sleep(1)
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=TIMEOUT)


def report(build, *arguments):
    out = subprocess.run([f"{build}/postproc/memprof-report", *arguments, "-f", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).stdout
    return json.loads(out) if out else None


def largest(build):
    """The process with the most resident memory whose resident memory was read."""
    logs = [(log["rss_peak"]["bytes"], log) for log in report(build, "peaks", "--all", "logs")["logs"] if log.get("resident") and log.get("rss_peak")]
    return max(logs, key=lambda pair: pair[0])[1] if logs else None


def row(build, name):
    log = largest(build)
    if not log:
        return [name, "below 16 MiB"]
    kind, peak = log["resident"], log["rss_peak"]["bytes"]
    host = report(build, "segments", "--heap", "host/heap", "--at", f"{kind['time_ns']}ns", log["path"])["host"]
    rss = kind["resident_bytes"]
    parts = [host["live_bytes"] + host["overhead_bytes"] - host["untouched_bytes"], sum(host[key] for key in ("pinned_bytes", "free_page_bytes", "top_bytes")) - host["returned_bytes"],
             host["mapping_bytes"], kind["stack_bytes"], kind["data_bytes"] + kind["code_bytes"], kind["file_bytes"] + kind["shared_bytes"],
             kind["memprof_bytes"]]
    unknown = host["unknown_bytes"]
    return [name, f"{peak / MIB:.1f} MiB", f"{100 * rss / peak:.0f} %", *(f"{part / MIB:.1f}" for part in parts), f"{unknown / MIB:.1f} ({100 * unknown / rss:.1f} %)"]


def main():
    build, *names = sys.argv[1:]
    build = os.path.abspath(build)
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name in names or PROGRAMS:
        if not shutil.which(name):
            print(f"| {name} | not installed |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            record(build, name)
            print(f"| {' | '.join(row(build, name))} |", flush=True)
            os.chdir("/")


if __name__ == "__main__":
    main()
