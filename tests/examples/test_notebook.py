"""The notebook of examples/notebook runs without an error, and shows its tables and plots."""
import json
import os
import subprocess

import mp

SOURCE = os.environ["MEMPROF_SOURCE"]
NOTEBOOK = os.path.join(SOURCE, "examples/notebook/analyses.ipynb")
MODULES = ("nbconvert", "ipykernel", "matplotlib", "pandas")


def interpreter():
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import " + ", ".join(MODULES)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise mp.Skip(f"no interpreter has {', '.join(MODULES)}: apt-get install {' '.join('python3-' + module for module in MODULES)}")


def executed():
    """Returns the cells of the notebook after it ran."""
    env = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python"), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline",
           "HOME": mp.folder, "IPYTHONDIR": mp.folder, "JUPYTER_RUNTIME_DIR": mp.folder, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    done = subprocess.run([interpreter(), "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout", NOTEBOOK], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    mp.equal(done.returncode, 0, f"{done.stderr}: status")
    return json.loads(done.stdout)["cells"]


def test_notebook_shows_five_analyses():
    if os.environ["MEMPROF_SQLITE"] != "1":
        raise mp.Skip("memprof-report was built without SQLITE")
    cells = executed()
    headings = [line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"] if line.startswith("## ")]
    mp.equal(len(headings), 5, f"analyses: {headings}")
    outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    mp.equal([output for output in outputs if output["output_type"] == "error"], [], "errors")
    mp.equal(sum("image/png" in output.get("data", {}) for output in outputs), 6, "plots")
    mp.equal(sum("text/html" in output.get("data", {}) for output in outputs), 4, "tables")
    text = "".join("".join(output.get("text", [])) for output in outputs)
    mp.check("step:7 has 848.0 MiB more than step:" in text, text)


def test_notebook_is_stored_without_outputs():
    with open(NOTEBOOK, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    mp.equal([cell for cell in cells if cell.get("outputs") or cell.get("execution_count")], [], "cells with outputs")


if __name__ == "__main__":
    mp.main()
