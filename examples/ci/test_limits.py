"""Tests that a program stays within memory limits: pytest examples/ci, with memprof on PATH."""
import sys

PROGRAM = "table = [bytes(1000) for _ in range(50_000)]"


def test_table_is_small(within):
    within(sys.executable, "-c", PROGRAM, host_heap="200MiB")
