"""A newcomer can configure the tree without a preset. CTest's environment: MEMPROF_SOURCE."""
import os
import subprocess

import mp

SOURCE = os.environ.get("MEMPROF_SOURCE")
PARTS = ("cuda", "jemalloc", "libdw", "node", "nvtx-memory", "sqlite")
# A machine without cmocka and Python 3.
WITHOUT_TEST_DEPENDENCIES = ("-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON", "-DCMOCKA_LIBRARY=OFF")


def configure(*options, status=0):
    """Configures a new build folder without optional parts, and returns the folder and the output."""
    build = mp.fresh("build")
    done = subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-DMEMPROF_WITHOUT=" + ";".join(PARTS), *options], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=mp.TIMEOUT * 2)
    mp.equal(done.returncode, status, f"status of cmake with {options}: {done.stdout}")
    return build, done.stdout


def targets(build):
    done = subprocess.run(["cmake", "--build", build, "--target", "help"], stdout=subprocess.PIPE, check=True, text=True, timeout=mp.TIMEOUT)
    return done.stdout.split()


def test_default_build_is_the_product_and_needs_no_test_dependency():
    build, _ = configure(*WITHOUT_TEST_DEPENDENCIES)
    built = targets(build)
    for name in ("memprof", "memprof-launcher", "memprof-report"):
        mp.check(name in built, f"{name} is not built")
    mp.equal([name for name in built if name.startswith(("unit_", "victim_", "fake_"))], [], "targets of tests")


def test_tests_without_python_are_an_error_with_a_hint():
    _, output = configure("-DMEMPROF_TESTS=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON", status=1)
    mp.check("apt-get install python3" in output, f"no remedy in {output}")


def test_configuration_ends_with_a_summary_of_the_optional_parts():
    _, output = configure()
    summary = output[output.index("optional parts that are built in"):]
    built_in, missing = summary.split("missing, and what each would bring")
    mp.check("none" in built_in, f"parts are built in: {built_in}")
    for part in PARTS:
        mp.check(f"--   {part} " in missing, f"{part} is not in {missing}")
    mp.check("-DMEMPROF_TESTS=ON" in summary, f"the summary does not say how to build the tests: {summary}")


if __name__ == "__main__":
    mp.main()
