"""A file named by -o is replaced when the new one is complete. A command that fails or is killed leaves only the old file.

test_output.py NAME, with MEMPROF_REPORT, MAKE_LOG, GOLDEN and NO_TMPFILE set."""
import os
import stat
import subprocess
import sys
import tempfile

REPORT, GOLDEN = os.environ["MEMPROF_REPORT"], os.environ["GOLDEN"]
LOG = os.path.join(GOLDEN, "h200-pytorch.zst")
NOBODY = 65534
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
# All commands that write a file. FILE is its name.
COMMANDS = [command.split() for command in (
    "peaks -o FILE", "timeline -o FILE", "peaks --format json -o FILE", "peaks --tree --format folded -o FILE", "steps -o FILE", "log verify -o FILE",
    "summary --all -o FILE", "top -o FILE", "check --suggest -o FILE", "check --max host/heap=1TiB,optional -o /dev/null --junit FILE",
    "export --to torch-snapshot -o FILE", "export --to pprof -o FILE", "export --to perfetto -o FILE")]
OPTIONAL = [command.split() for command in ("html -o FILE", "export --to sqlite -o FILE", "log digest -o FILE")]
UNNAMED, NAMED = {}, {"LD_PRELOAD": os.environ["NO_TMPFILE"]}   # file systems that can create unnamed files, and others


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


def run(command, file, env=UNNAMED, limit="", **options):
    """limit: a shell command that runs before it."""
    words = [file if word == "FILE" else word for word in command]
    return subprocess.run(["sh", "-c", f'{limit}\nexec "$@"', "sh", REPORT, *words, LOG], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **env}, check=False, **options)


def commands(folder):
    """Returns the commands that this build has."""
    return COMMANDS + [command for command in OPTIONAL if run(command, os.path.join(folder, "probe")).returncode == 0]


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def old_file(folder, text=b"what was there"):
    path = os.path.join(folder, "out")
    with open(path, "wb") as file:
        file.write(text)
    return path


def fresh(folder):
    return tempfile.mkdtemp(dir=folder)


def old_file_is_kept_if_the_disk_is_full(folder):
    for env in UNNAMED, NAMED:
        for command in commands(folder):
            place = fresh(folder)
            path = old_file(place)
            done = run(command, path, env, limit='trap "" XFSZ; ulimit -f 0')
            check(done.returncode == 1 and path.encode() in done.stderr, command, done)
            check(contents(path) == b"what was there" and os.listdir(place) == ["out"], command, os.listdir(place))


def of_a_killed_command_leaves_only_the_old_file(folder):
    for command in commands(folder):
        place = fresh(folder)
        path = old_file(place)
        done = run(command, path, limit="ulimit -f 0")      # the first byte kills it
        check(done.returncode < 0 or done.returncode > 128, command, done)
        check(contents(path) == b"what was there" and os.listdir(place) == ["out"], command, os.listdir(place))


def part_file_of_a_killed_command_is_removed(folder):
    """A partial file remains only on a file system that cannot create unnamed files. The next command removes it, on
    any file system."""
    for command in commands(folder):
        place = fresh(folder)
        path = old_file(place)
        run(command, path, NAMED, limit="ulimit -f 0")
        check(contents(path) == b"what was there" and sorted(os.listdir(place)) == ["out", "out.part"], command, os.listdir(place))
        for env in UNNAMED, NAMED:
            with open(f"{path}.part", "wb") as part:
                part.write(b"half")
            done = run(command, path, env)
            check(done.returncode == 0 and contents(path) != b"what was there" and os.listdir(place) == ["out"], command, done, os.listdir(place))


def file_mode_follows_the_umask(folder):
    before = os.umask(0o027)
    for env in UNNAMED, NAMED:
        for command in commands(folder):
            path = os.path.join(fresh(folder), "new")
            run(command, path, env)
            check(stat.S_IMODE(os.stat(path).st_mode) == 0o640, command, oct(os.stat(path).st_mode))
    os.umask(before)


def symlink_is_kept_and_its_target_is_replaced(folder):
    for env in UNNAMED, NAMED:
        for command in commands(folder):
            place = fresh(folder)
            os.mkdir(os.path.join(place, "there"))
            target, link = os.path.join(place, "there", "target"), os.path.join(place, "link")
            os.symlink("there/target", link)
            for old in None, b"what was there":
                if old:
                    with open(target, "wb") as file:
                        file.write(old)
                    os.chmod(target, 0o604)
                done = run(command, link, env)
                check(done.returncode == 0 and os.path.islink(link) and contents(target) not in (b"", old), command, done)
            check(stat.S_IMODE(os.stat(target).st_mode) == 0o604, command, oct(os.stat(target).st_mode))
            check(os.listdir(os.path.join(place, "there")) == ["target"], command, os.listdir(os.path.join(place, "there")))


def to_devices_and_descriptors_is_written_in_place(folder):
    due = run(["peaks", "-o", "-"], "").stdout
    check(due, "a report")
    check(run(["peaks", "-o", "FILE"], "/dev/stdout").stdout == due, "standard output")
    check(run(["peaks", "-o", "FILE"], "/dev/null").returncode == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null")
    path = old_file(folder)
    with open(path, "r+b") as file:
        done = run(["peaks", "-o", "FILE"], f"/proc/self/fd/{file.fileno()}", pass_fds=[file.fileno()])
        check(done.returncode == 0 and file.read() == due, "an open file", done)
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        run(["peaks", "-o", "FILE"], fifo)
        check(reader.stdout.read() == due and stat.S_ISFIFO(os.stat(fifo).st_mode), "a pipe")


def as_root():
    if os.geteuid() != 0:
        sys.exit(77)


def with_nobody():
    """Leaves the test out if the user "nobody" cannot read the program and the log: a folder above them is closed."""
    as_root()
    if any(subprocess.run(["test", "-r", path], **AS_NOBODY, check=False).returncode for path in (REPORT, LOG)):
        sys.exit(77)


def file_keeps_its_owner(folder):
    as_root()
    for env in UNNAMED, NAMED:
        path = old_file(folder)
        os.chown(path, NOBODY, NOBODY)
        os.chmod(path, 0o640)
        done, st = run(["peaks", "-o", "FILE"], path, env), os.stat(path)
        check(done.returncode == 0 and contents(path) != b"what was there", done)
        check((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) == (NOBODY, NOBODY, 0o640), st)


def file_is_overwritten_if_it_cannot_be_replaced(folder):
    """A file of another user in a folder that cannot be written to: the file itself is written, and only at the end."""
    with_nobody()
    for mode, own in (0o755, True), (0o755, False), (0o777, False):
        place = fresh(folder)
        path = old_file(place)
        os.chown(path, NOBODY if own else 0, -1)
        os.chmod(path, 0o666)
        os.chmod(folder, 0o755)
        os.chmod(place, mode)
        inode = os.stat(path).st_ino
        for words, good in (("export --to pprof -o FILE --from 2ms --until 1ms", False), ("peaks -o FILE", True)):
            done = run(words.split(), path, **AS_NOBODY)
            check((done.returncode == 0) == good and (contents(path) != b"what was there") == good, mode, own, words, done)
        check(os.stat(path).st_ino == inode and os.listdir(place) == ["out"], mode, own)


def read_only_file_is_kept(folder):
    with_nobody()
    os.chown(folder, NOBODY, NOBODY)
    path = old_file(folder)
    os.chown(path, NOBODY, NOBODY)
    os.chmod(path, 0o444)
    done = run(["peaks", "-o", "FILE"], path, **AS_NOBODY)
    check(done.returncode == 1 and b"Permission denied" in done.stderr and contents(path) == b"what was there", done)


with tempfile.TemporaryDirectory() as temporary:
    globals()[sys.argv[1]](temporary)
