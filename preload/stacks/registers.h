/* Facts about the processor's registers for the unwinder. Each file below defines all of them.
 *
 *   MP_REG_SP, _FP, _RETURN    their numbers in call frame information
 *   MP_RETURN_IS_BELOW         a call always puts the return address below the frame's address;
 *                              otherwise it is in a register until the function saves it
 *   MP_RED_ZONE                bytes below sp that a function may use
 *   MP_CFA_SIGNED              the instruction that switches signing of return addresses, ignored
 *                              because every signature is removed; -1 without such an instruction
 *   MP_AUGMENTATIONS           letters of a CIE that have no data and can be ignored
 *   MP_SIGNAL_INFO             bytes at sp before the ucontext_t when a handler returns
 *   mp_interrupted(u, &link)   returns the frame that a handler interrupted; link: the place of its
 *                              return address if no instruction has saved it, or NULL
 *   MP_RECORD_AT_TOP           a frame record (caller's fp, return address) is at the top of its
 *                              frame, so it gives the caller's sp
 *   mp_ends_handler(pc)        returns true if handlers return to this code, which has no call
 *                              frame information
 *   mp_follows_call(pc)        returns true if the instruction before pc is a call, false also if
 *                              it cannot be read */
#ifndef MP_REGISTERS_H
#define MP_REGISTERS_H

#if defined(__x86_64__)
#include "stacks/registers_x86_64.h"
#elif defined(__aarch64__)
#include "stacks/registers_aarch64.h"
#endif

#endif
