"""Runs Slurm on this machine for the time of a test: munge, a controller and a node's daemon, in a separate folder."""
import contextlib
import os
import shutil
import socket
import subprocess
import time

import mp

PROGRAMS = "munged", "slurmctld", "slurmd", "srun"
CONF = """
ClusterName=memprof
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES
"""


def unused_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(path, process):
    end = time.monotonic() + mp.TIMEOUT
    while not os.path.exists(path):
        mp.check(process.poll() is None and time.monotonic() < end, f"{process.args} makes no {path}")
        time.sleep(0.02)


@contextlib.contextmanager
def slurm():
    """Returns the environment for srun."""
    missing = [program for program in PROGRAMS if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        raise mp.Skip(f"{', '.join(missing)}: not installed")
    if os.getuid():
        raise mp.Skip("Slurm's daemons want to be root")
    folder = mp.fresh("slurm")
    host = socket.gethostname().split(".")[0]
    key, conf = os.path.join(folder, "munge.key"), os.path.join(folder, "slurm.conf")
    os.chmod(folder, 0o755)
    os.mkdir(os.path.join(folder, "state"))
    os.mkdir(os.path.join(folder, "spool"))
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
        f.write(os.urandom(1024))
    with open(conf, "w") as f:
        f.write(CONF.format(folder=folder, host=host, controller=unused_port(), node=unused_port(), processors=os.cpu_count()))
    env = {**os.environ, "SLURM_CONF": conf, "PATH": os.environ["PATH"] + ":/usr/sbin"}
    running = []

    def start(*argv):
        with open(os.path.join(folder, argv[0] + ".out"), "w") as out:
            running.append(subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    try:
        start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={key}", f"--pid-file={folder}/munged.pid",
              f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        wait_for(f"{folder}/munge.socket", running[0])
        start("slurmctld", "-D", "-c", "-f", conf)
        start("slurmd", "-D", "-f", conf, "-N", host)
        yield env
    finally:
        # Stops the daemons one after the other: a step that is about to end needs the controller and munge, and slurmd
        # waits for it.
        for process in reversed(running):
            process.terminate()
            process.wait(mp.TIMEOUT)
