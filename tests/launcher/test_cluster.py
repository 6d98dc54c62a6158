"""Launchers of jobs start ranks under memprof, whose logs are digested and compared by `ranks`."""
import json
import os
import shutil
import subprocess
import sys

import mp
import slurm

RANKS = 4
MIB = 1 << 20
# the last rank has more memory
PROGRAM = "import os\nblock = bytearray((120 if os.environ[{rank!r}] == '3' else 20) << 20)\n"


def works(*launcher, env):
    """Skips the test if the launcher cannot start a task on this machine."""
    try:
        done = subprocess.run([*launcher, "true"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=mp.TIMEOUT)
    except subprocess.TimeoutExpired:
        raise mp.Skip(f"{launcher[0]} starts nothing here")
    if done.returncode:
        raise mp.Skip(f"{launcher[0]} starts nothing here: {done.stdout}")


def recorded(*launcher, rank, env):
    """Records the tasks of a job into one folder and returns the output of `ranks` from its digests."""
    logs = os.path.join(mp.folder, "logs")
    done = subprocess.run([*launcher, os.environ["MEMPROF"], "run", "-q", "--digest", "-o", logs, "--", os.path.realpath(sys.executable), "-S", "-c",
                           PROGRAM.format(rank=rank)], env=env, cwd=mp.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=mp.TIMEOUT)
    if "built without SQLite" in done.stdout:
        raise mp.Skip("built without SQLite")
    mp.equal((done.returncode, done.stdout), (0, ""), "status and output of the job")
    mp.equal(len([name for name in os.listdir(logs) if name.endswith(".digest")]), RANKS, "digests")
    home = mp.fresh("home")
    for name in os.listdir(logs):       # the logs stay in the folder
        if name.endswith(".digest"):
            shutil.copy(os.path.join(logs, name), home)
    ranks = subprocess.run([os.environ["MEMPROF_REPORT"], "ranks", "--format", "json", home], stdout=subprocess.PIPE, check=True, timeout=mp.TIMEOUT)
    return json.loads(ranks.stdout)


def one_answer(ranks):
    mp.equal(sorted(rank["rank"] for rank in ranks["ranks"]), list(range(RANKS)), "ranks")
    mp.equal(ranks["missing_ranks"], 0, "missing ranks")
    mp.equal([outlier["rank"] for outlier in ranks["outliers"]], [3], "outliers")
    mp.within(ranks["outliers"][0]["change_bytes"], 100 * MIB - 4096, 100 * MIB + 4096, "by which it differs")


def test_ranks_of_an_mpirun_job_are_compared():
    if not shutil.which("mpirun"):
        raise mp.Skip("mpirun: not installed")
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mpirun = "mpirun", "--oversubscribe", "-n", str(RANKS)
    works(*mpirun, env=env)
    one_answer(recorded(*mpirun, rank="OMPI_COMM_WORLD_RANK", env=env))


def test_ranks_of_an_srun_job_are_compared():
    with slurm.slurm() as env:
        srun = "srun", "--overcommit", "--quiet", "-n", str(RANKS)
        works(*srun, env=env)
        one_answer(recorded(*srun, rank="SLURM_PROCID", env=env))


if __name__ == "__main__":
    mp.main()
