"""Clean root file systems of distributions, made by debootstrap and kept in the build folder. The tests install packages into
them.

Each command in a root runs in a separate mount namespace, so that nothing stays mounted if a test is killed."""
import os
import shutil
import subprocess

import mp

# Packages that memprof needs or recommends, by their names in that release, so that dpkg can install memprof without a
# network.
SUITES = {
    "bookworm": ["python3", "libdw1"],
    "trixie": ["python3", "libdw1t64", "ubuntu-keyring"],       # has the keys of the next suite, except on Ubuntu
    "noble": ["python3", "libdw1t64"],
}
KEYRINGS = {"bookworm": "debian-archive-keyring.gpg", "trixie": "debian-archive-keyring.gpg", "noble": "ubuntu-archive-keyring.gpg"}
SCRIPTS = "/usr/share/debootstrap/scripts"
PLACE = os.environ["MEMPROF_ROOTS"]
LIMIT = 600       # seconds within which a root must be created


def keyring(suite):
    """Returns the keys that sign a suite's packages, from this machine or from a root that has them."""
    for place in ["/", *(os.path.join(PLACE, other) for other in SUITES)]:
        path = os.path.join(place, "usr/share/keyrings", KEYRINGS[suite])
        if os.path.exists(path):
            return path
    raise mp.Skip(f"no {KEYRINGS[suite]} to check packages of {suite} by")


def made(suite):
    """Returns the folder of a root, which is created if it does not exist."""
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
    if not os.path.exists(os.path.join(SCRIPTS, suite)):        # newer than debootstrap; all releases of Ubuntu use the same script
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
    """Returns the command line that runs a command in a root."""
    return ["unshare", "-m", "sh", "-c", 'mount --make-rprivate / && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root, *command]


def run(root, *command, status=0):
    """Runs a command in a root and returns its standard output."""
    done = subprocess.run(inside(root, *command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=mp.TIMEOUT,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
    mp.check(done.returncode == status, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
