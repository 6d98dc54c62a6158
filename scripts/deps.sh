#!/usr/bin/env bash
# Installs the packages that are missing to build, test or demonstrate memprof on Debian and Ubuntu, and prints the reason for each.
# usage: scripts/deps.sh build|test|package|try|programs|demo ...      package: for making packages; try: for tests that are otherwise skipped;
# programs: for the programs of tests/programs/run.py
set -euo pipefail

# Each line: the set, the file or command that exists if it is installed, the packages that contain it (the first that
# the release has is used), and the reason.
wanted() {
    cat <<'LIST'
build cmd:gcc            gcc                                        compiler
build cmd:make           make                                       build
build cmd:cmake          cmake                                      build
build file:stdlib.h        libc6-dev                                  the C library's headers
build file:zstd.h        libzstd-dev                                compressed logs
build file:zlib.h        zlib1g-dev                                 the page's data
build file:sqlite3.h     libsqlite3-dev                              a log as a database
build file:elfutils/libdwfl.h libdw-dev                             names in call stacks
test  file:cmocka.h      libcmocka-dev                              unit tests
test  cmd:g++            g++                                        C++ programs as test subjects
test  cmd:python3        python3                                    test drivers and subjects
test  cmd:readelf        binutils                                   checks of the library's symbols
test  cmd:zstd           zstd                                       checks that logs are plain zstd
test  cmd:sqlite3        sqlite3                                    a real program as test subject
test  cmd:jq             jq                                         values that tests select from JSON; a real program as test subject
test  cmd:ps             procps                                     test drivers
test  cmd:setcap         libcap2-bin                                a program with file capabilities as test subject
test  lib:libjemalloc.so.2           libjemalloc2                   an allocator as test subject
test  file:jemalloc/jemalloc.h       libjemalloc-dev                jemalloc's own API
test  lib:libtcmalloc_minimal.so.4   libtcmalloc-minimal4t64,libtcmalloc-minimal4  an allocator as test subject
test  lib:libmimalloc.so.2           libmimalloc2.0,libmimalloc2    an allocator as test subject
package cmd:dpkg-shlibdeps dpkg-dev                                 a package's dependencies
package cmd:file           file                                     to recognise programs in the package
package file:bzlib.h       libbz2-dev                               the static memprof-report of the archive
package file:lzma.h        liblzma-dev                              the same
try   cmd:node           nodejs                                     the page and its tests
try   cmd:npm            npm                                        the page's packages
try   cmd:chromium-headless-shell chromium-headless-shell           tests of the page
try   cmd:chromium       chromium                                   the same without that shell; a browser as test subject
try   cmd:firefox-esr    firefox-esr                                the same in another browser
try   cmd:mpirun         openmpi-bin                                ranks of a job as test subjects
try   cmd:srun           slurm-client                               the same
try   cmd:slurmctld      slurmctld                                  Slurm's controller
try   cmd:slurmd         slurmd                                     Slurm's nodes
try   cmd:munged         munge                                      Slurm's authentication
try   cmd:clang          clang                                      fuzzing
try   lib:libclang_rt.fuzzer-x86_64.a libclang-rt-18-dev,libclang-rt-14-dev   the same
try   cmd:musl-gcc       musl-tools                                 a program with another C library as test subject
try   cmd:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu             the library on another processor
try   path:/usr/aarch64-linux-gnu/include/stdlib.h libc6-dev-arm64-cross the C library of that processor
try   cmd:qemu-aarch64-static qemu-user-static                   runs programs of that processor
try   cmd:pkg-config     pkg-config                                 programs that find the reader library
try   cmd:pytest-3       python3-pytest                             a fixture of examples/ci, and the plugin of memprof_report
try   path:/usr/lib/python3/dist-packages/xdist python3-pytest-xdist  the same plugin with several processes
try   path:/usr/lib/python3/dist-packages/pandas  python3-pandas   memprof_report's tables
try   path:/usr/lib/python3/dist-packages/IPython python3-ipython  its magic
try   path:/usr/lib/python3/dist-packages/matplotlib python3-matplotlib  plots of the notebook in examples
try   path:/usr/lib/python3/dist-packages/nbconvert python3-nbconvert  runs that notebook
try   path:/usr/lib/python3/dist-packages/ipykernel python3-ipykernel  the same
try   path:/usr/share/python-wheels python3-venv                    a virtual environment for the wheel
try   cmd:lintian        lintian                                    checks of the package
try   cmd:debootstrap    debootstrap                                root file systems for installing packages
try   cmd:protoc         protobuf-compiler                           checks of traces for Perfetto
try   cmd:clang-format-14 clang-format-14                         checks the formatting
try   cmd:clang-tidy     clang-tidy                                 static analysis
try   cmd:cppcheck       cppcheck                                   the same
demo  cmd:python3        python3                                    the demo's program
programs cmd:git         git                                        real programs and their tests: tests/programs
programs cmd:tclsh       tcl                                        redis's tests
programs cmd:npm         npm                                        Node's binary
programs cmd:javac       openjdk-17-jdk-headless,default-jdk-headless  the same in Java
programs cmd:rustc       rustc                                      in Rust
programs cmd:go          golang-go                                  in Go
programs cmd:chromium    chromium                                   draws a page
LIST
}

present() {
    local kind=${1%%:*} name=${1#*:}
    case $kind in
    cmd) PATH=$PATH:/usr/sbin command -v "$name" >/dev/null ;;
    file) [ -n "$(find /usr/include /usr/local/include -path "*/$name" -print -quit 2>/dev/null)" ] ;;
    path) [ -e "$name" ] ;;
    lib) [ -n "$(find /usr/lib /usr/local/lib -name "$name" -print -quit 2>/dev/null)" ] ;;
    esac
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

known() { [ "$(apt-cache show --no-all-versions "$1" 2>/dev/null | head -c 1)" ]; }

# Prints the first of the alternatives that this release has.
choose() {
    local p
    for p in ${1//,/ }; do if known "$p"; then echo "$p"; return; fi; done
    echo "${1%%,*}"
}

missing=()
for set in "$@"; do
    while read -r listed probe packages why; do
        if [ "$listed" != "$set" ] || present "$probe"; then continue; fi
        missing+=("$set:$packages")
        echo "deps: $packages is missing: $why"
    done < <(wanted)
done
if [ ${#missing[@]} = 0 ]; then exit 0; fi

echo "deps: installing with apt-get"
export DEBIAN_FRONTEND=noninteractive
as_root apt-get update -qq
packages=()
for m in "${missing[@]}"; do
    p=$(choose "${m#*:}")
    if [ "${m%%:*}" = try ] && ! known "$p"; then echo "deps: $p is not in this release"; else packages+=("$p"); fi
done
if [ ${#packages[@]} = 0 ]; then exit 0; fi
as_root apt-get install -y -qq --no-install-recommends "${packages[@]}"
