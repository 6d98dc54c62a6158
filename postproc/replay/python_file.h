/* The file of a frame of Python, as frames are named by it. */
#ifndef MPR_PYTHON_FILE_H
#define MPR_PYTHON_FILE_H

/* The end of the path: the file's own name, and of code that is not the program's own so much that
 * there is a slash before it: "torch/nn/modules/module.py", "site-packages/six.py",
 * "python3.12/json/__init__.py", "bin/torchrun". */
const char *mpr_python_file(const char *path);

#endif
