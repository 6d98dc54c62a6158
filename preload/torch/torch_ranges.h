/* PyTorch's own ranges: optimizer steps, record_function, pipeline stages and, in the backward
 * pass, autograd's functions.
 *
 * RecordFunction, PyTorch's own instrumentation, reports them. They are in the domain "torch",
 * nested with NVTX in the order of their pushes. */
#ifndef MP_TORCH_RANGES_H
#define MP_TORCH_RANGES_H

/* Registers once, when PyTorch is loaded and the interface of its version is known. Takes PyTorch's
 * lock of the list of callbacks. A running operator continues with its callbacks. Cheap after the
 * first time. Keeps errno. */
void mp_torch_ranges_start(void);

#endif
