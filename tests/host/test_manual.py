"""The manual pages describe every variable, and man formats them without warnings."""
import glob
import os
import re
import shutil
import subprocess

import mp

TREE = os.path.dirname(os.environ.get("MEMPROF_GUEST", ""))


def text_of(*pattern):
    found = []
    for path in glob.glob(os.path.join(TREE, *pattern), recursive=True):
        with open(path, encoding="utf-8") as f:
            found.append(f.read())
    return "\n".join(found)


def test_manual_documents_every_variable():
    code = text_of("preload", "**", "*.c") + text_of("launcher", "*.c")
    read = set(re.findall(r'"(MEMPROF_[A-Z_]+)', code))
    mp.check("MEMPROF_OUT" in read and "MEMPROF_LIB" in read, read)
    missing = [v for v in read if not re.search(rf"\b{v}\b", text_of("docs", "man", "memprof.1"))]
    mp.equal(missing, [], "variables that memprof.1 does not tell of")


def test_manual_pages_are_formatted_without_warnings():
    if not shutil.which("man"):
        raise mp.Skip("man is not installed")
    pages = glob.glob(os.path.join(TREE, "docs", "man", "*.1"))
    mp.check(pages, "no pages")
    for page in pages:
        done = subprocess.run(["man", "--warnings", "-Tutf8", "-l", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        mp.equal(done.stderr, b"", page)


if __name__ == "__main__":
    mp.main()
