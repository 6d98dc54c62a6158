"""Clean roots of distributions, by debootstrap, kept in the build folder: what a package is installed into.

Each command in one runs in a mount namespace of its own, so that nothing stays mounted when a test is killed."""
import os
import shutil
import subprocess

import mp

# Packages that memprof needs or recommends, by their names in that release: dpkg then installs it without a network
SUITES = {
    "bookworm": ["python3", "libdw1"],
    "trixie": ["python3", "libdw1t64", "ubuntu-keyring"],       # which the next one is checked by, elsewhere than on Ubuntu
    "noble": ["python3", "libdw1t64"],
}
KEYRINGS = {"bookworm": "debian-archive-keyring.gpg", "trixie": "debian-archive-keyring.gpg", "noble": "ubuntu-archive-keyring.gpg"}
SCRIPTS = "/usr/share/debootstrap/scripts"
PLACE = os.environ["MEMPROF_ROOTS"]
LIMIT = 600       # seconds that a root may take to be made


def keyring(suite):
    """The keys that a suite's packages are signed by, of this machine or of a root that has them."""
    for place in ["/", *(os.path.join(PLACE, other) for other in SUITES)]:
        path = os.path.join(place, "usr/share/keyrings", KEYRINGS[suite])
        if os.path.exists(path):
            return path
    raise mp.Skip(f"no {KEYRINGS[suite]} to check packages of {suite} by")


def made(suite):
    """The folder of a root; it is made where it is not there yet."""
    root = os.path.join(PLACE, suite)
    if os.path.exists(root):
        return root
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise mp.Skip("a root is made by root, with debootstrap")
    keys = keyring(suite)
    os.makedirs(PLACE, exist_ok=True)
    part = root + ".part"
    shutil.rmtree(part, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", "--keyring=" + keys, "--include=" + ",".join(SUITES[suite]), suite, part]
    if not os.path.exists(os.path.join(SCRIPTS, suite)):        # newer than debootstrap; one script serves all of Ubuntu
        command += ["", os.path.join(SCRIPTS, "gutsy")]
    try:
        done = subprocess.run(["unshare", "-m", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise mp.Skip(f"the mirror of {suite} does not answer")
    if done.returncode:
        raise mp.Skip(f"no root of {suite} can be made here: {done.stdout.splitlines()[-1:]}")
    for folder in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(os.path.join(part, folder))
    os.rename(part, root)
    return root


def inside(root, *command):
    """The command line that runs a command in a root."""
    return ["unshare", "-m", "sh", "-c", 'mount --make-rprivate / && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root, *command]


def run(root, *command, status=0):
    """What it prints on standard output."""
    done = subprocess.run(inside(root, *command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=mp.TIMEOUT,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
    mp.check(done.returncode == status, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
