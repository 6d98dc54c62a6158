#!/usr/bin/env python3
"""Makes a wheel of the archive: the Python package with memprof, memprof-report and the libraries.

usage: packaging/wheel.py memprof-VERSION-linux-PROCESSOR.tar.gz FOLDER"""
import base64
import hashlib
import os
import re
import sys
import tarfile
import zipfile

GLIBC = "2_34"      # the oldest C library with which the archive runs
# Places in the wheel of the archive's files. INFO is the folder of the metadata. Other files are left out.
PLACES = [
    (r"lib/python3/dist-packages/(memprof_report/[^/]*\.py)", r"\1"),
    (r"lib/python3/dist-packages/memprof_report-[^/]*\.dist-info/(\w+|entry_points\.txt)", r"INFO/\1"),
    (r"(bin/memprof|bin/memprof-report|lib/[^/]*\.so)", r"memprof_report/\1"),
    (r"share/doc/memprof/(LICENSE|inside/[^/]*)", r"INFO/\1"),
]


def place_of(name, info):
    """Returns the place of a file in the wheel, or None."""
    for pattern, place in PLACES:
        found = re.fullmatch(pattern, name)
        if found:
            return found.expand(place).replace("INFO", info)
    return None


def read(path, info):
    """Returns the files of the wheel: (place, bytes, mode)."""
    with tarfile.open(path) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            place = member.isfile() and place_of(member.name.split("/", 1)[-1], info)
            if place:
                yield place, tar.extractfile(member).read(), member.mode


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main(archive, folder):
    version, processor = re.fullmatch(r"memprof-(.*)-linux-(.*)\.tar\.gz", os.path.basename(archive)).groups()
    tag, info = f"py3-none-manylinux_{GLIBC}_{processor}", f"memprof_report-{version}.dist-info"
    files = list(read(archive, info))
    files.append((f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: memprof\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644))
    record = "".join(f"{place},{digest(data)},{len(data)}\n" for place, data, _ in files) + f"{info}/RECORD,,\n"
    path = os.path.join(folder, f"memprof_report-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, data, mode in [*files, (f"{info}/RECORD", record.encode(), 0o644)]:
            entry = zipfile.ZipInfo(place)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
