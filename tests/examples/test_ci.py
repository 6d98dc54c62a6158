"""The pytest fixture and the workflow's steps in examples/ci work with the memprof of this build."""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import mp

SOURCE = os.environ["MEMPROF_SOURCE"]
CI = os.path.join(SOURCE, "examples/ci")


def environment():
    """Puts memprof and memprof-report on PATH."""
    place = mp.fresh("bin")
    for name in ("MEMPROF", "MEMPROF_REPORT"):
        os.symlink(os.environ[name], os.path.join(place, os.path.basename(os.environ[name])))
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF")}
    return {**clean, "PATH": place + ":" + os.environ["PATH"], "MEMPROF_LIB": os.environ["MEMPROF_LIB"]}


def pytest(folder):
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pytest"], stderr=subprocess.DEVNULL).returncode == 0:
            return subprocess.run([python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder], env=environment(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=mp.TIMEOUT, cwd=folder)
    raise mp.Skip("pytest is not installed")


def test_pytest_passes_within_the_limit():
    done = pytest(shutil.copytree(CI, os.path.join(mp.folder, "ci")))
    mp.check(done.returncode == 0 and "1 passed" in done.stdout, done.stdout)


def test_pytest_reports_a_broken_limit():
    place = shutil.copytree(CI, os.path.join(mp.folder, "ci"))
    path = os.path.join(place, "test_limits.py")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("200MiB", "20MiB"))
    done = pytest(place)
    mp.check(done.returncode == 1 and re.search(r"OVER LIMIT host/heap: .*, limit 20\.00 MiB", done.stdout), done.stdout)


def steps():
    """Returns the workflow's commands by the names of their steps."""
    with open(os.path.join(CI, "github.yml")) as file:
        text = file.read()
    return dict(re.findall(r"- name: (.*)\n(?:        if: .*\n)?        run: \|\n((?:          .*\n)+)", text))


def step(name, place, env, status=0):
    done = subprocess.run(["bash", "-e", "-c", steps()[name]], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=mp.TIMEOUT)
    mp.equal(done.returncode, status, f"{name}: {done.stdout}{done.stderr}: status")


def recorded(budget=None):
    place = mp.fresh("work")
    os.makedirs(os.path.join(place, "examples"))
    shutil.copytree(CI, os.path.join(place, "examples/ci"))
    env = {**environment(), "GITHUB_STEP_SUMMARY": os.path.join(place, "summary")}
    if budget:
        with open(os.path.join(place, "examples/ci/budget.txt"), "w") as file:
            file.write(budget)
    step("Record", place, env)
    return place, env


def tests_of(place):
    return xml.etree.ElementTree.parse(os.path.join(place, "memory.xml")).getroot().find("testsuite")


def test_workflow_passes_within_its_budget():
    place, env = recorded()
    step("Check", place, env)
    mp.equal((tests_of(place).get("tests"), tests_of(place).get("failures")), ("2", "0"), "tests and failures")
    step("Keep what was found", place, env)
    with open(os.path.join(place, "summary")) as file:
        mp.check("host/heap" in file.read(), "nothing was kept")


def test_workflow_fails_on_a_broken_budget():
    place, env = recorded("heap host/heap 20MiB\n")
    step("Check", place, env, status=4)
    mp.equal(tests_of(place).get("failures"), "1", "failures")


if __name__ == "__main__":
    mp.main()
