"""Downloads programs and their tests into the work folder: Debian's packages and sources with apt-get, packages of npm with npm. The
machine's settings and packages do not change."""
import glob
import os
import subprocess

def call(command, **popen):
    print("programs:", *command[-4:], flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **popen)


def mirrors():
    """Returns the sources of the machine's packages as lines for apt, and the matching lines for source packages, which
    machines seldom have."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]
    places = sorted(set(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()))
    return "".join(f"{kind} {place}\n" for kind in ("deb", "deb-src") for place in places)


def apt(work):
    """Returns the arguments of apt-get for separate package lists, after updating these."""
    lists, cache, lines = f"{work}/apt/lists", f"{work}/apt/cache", f"{work}/apt/sources.list"
    get = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={lines}", "-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={lists}",
           "-o", f"Dir::Cache={cache}", "-o", "APT::Sandbox::User=root"]
    if not os.path.exists(lines):
        os.makedirs(f"{lists}/partial")
        os.makedirs(f"{cache}/archives/partial")
        with open(lines, "w", encoding="ascii") as f:
            f.write(mirrors())
        call([*get, "update"])
    return get


def unpacked(work, packages):
    """Unpacks Debian packages into WORK/root without installing them."""
    marker = f"{work}/root/.{packages[0]}"
    if os.path.exists(marker):
        return
    debs = f"{work}/apt/debs.{packages[0]}"
    os.makedirs(debs, exist_ok=True)
    call([*apt(work), "download", *packages], cwd=debs)
    for deb in glob.glob(f"{debs}/*.deb"):
        call(["dpkg", "-x", deb, f"{work}/root"])
    open(marker, "w", encoding="ascii").close()


def source(work, package, folder):
    """Unpacks the upstream source of a Debian package into WORK/build/FOLDER."""
    where = f"{work}/build/{folder}"
    if os.path.exists(where):
        return where
    tars = f"{work}/apt/source.{package}"
    os.makedirs(tars, exist_ok=True)
    os.makedirs(f"{where}.part")
    call([*apt(work), "source", "--tar-only", package], cwd=tars)
    tar, = (t for t in glob.glob(f"{tars}/*.orig.tar.*") if not t.endswith(".asc"))
    call(["tar", "xf", tar, "-C", f"{where}.part", "--strip-components=1"])
    os.rename(f"{where}.part", where)
    return where


def npm(work, package, folder):
    """Unpacks a package of npm into WORK/build/FOLDER without running any of it."""
    where = f"{work}/build/{folder}"
    if os.path.exists(where):
        return where
    os.makedirs(f"{where}.part", exist_ok=True)
    call(["npm", "pack", package], cwd=f"{where}.part")
    tar, = glob.glob(f"{where}.part/*.tgz")
    call(["tar", "xf", tar, "-C", f"{where}.part", "--strip-components=1"])
    os.rename(f"{where}.part", where)
    return where
