/* PyTorch's own ranges: optimizer steps, record_function, pipeline stages and, in the backward
 * pass, autograd's functions.
 *
 * They come from RecordFunction, PyTorch's own instrumentation, and stand in the domain "torch",
 * nested with NVTX in the order of their pushes. */
#ifndef MP_TORCH_RANGES_H
#define MP_TORCH_RANGES_H

/* Registers once, when PyTorch is loaded and its version is one whose interface is known.  Takes
 * PyTorch's lock of the list of callbacks; an operator that runs meanwhile goes on with those that
 * it began with.  Cheap after the first time. Keeps errno. */
void mp_torch_ranges_start(void);

#endif
