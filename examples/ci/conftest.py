"""The fixture `within` holds a program to memory limits, with memprof run and memprof-report check."""
import subprocess

import pytest


@pytest.fixture
def within(tmp_path):
    def run(*command, **limits):
        subprocess.run(["memprof", "run", "-q", "-o", tmp_path / "logs", "--", *command], check=True)
        wanted = [f"--max={heap.replace('_', '/')}={size}" for heap, size in limits.items()]
        checked = subprocess.run(["memprof-report", "check", *wanted, tmp_path / "logs"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    return run
