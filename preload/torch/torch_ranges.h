/* PyTorch's own ranges: optimizer steps, record_function, pipeline stages and, in the backward
 * pass, autograd's functions.
 *
 * They come from RecordFunction, PyTorch's own instrumentation, and are in the domain "torch",
 * nested with NVTX in the order of their pushes. */
#ifndef MP_TORCH_RANGES_H
#define MP_TORCH_RANGES_H

/* Registers once, when PyTorch is loaded and the interface of its version is known. Takes PyTorch's
 * lock of the list of callbacks; a running operator continues with those it began with. Cheap after
 * the first time. Keeps errno. */
void mp_torch_ranges_start(void);

#endif
