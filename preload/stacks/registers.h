/* The facts about the processor's registers that an unwinder needs; each file below has the same.
 *
 *   MP_REG_SP, _FP, _RETURN    their numbers in call frame information
 *   MP_RETURN_IS_BELOW         a call puts the return address below the frame's address, always;
 *                              else it is in a register until the function saves it
 *   MP_RED_ZONE                bytes below sp that a function may use
 *   MP_CFA_SIGNED              the instruction that says whether return addresses are signed from
 *                              here on: no matter, for a signature is taken off wherever there is
 *                              one; -1: there is none
 *   MP_AUGMENTATIONS           letters that may stand in a CIE, without data, and do not matter
 *   MP_SIGNAL_INFO             bytes at sp before the ucontext_t when a handler returns
 *   mp_interrupted(u, &link)   the frame that a handler was called in; link: where its return
 *                              address is if no instruction has saved it; NULL: it is saved
 *   MP_RECORD_AT_TOP           a frame record (caller's fp, return address) is at the top of its
 *                              frame, so that the caller's sp is known by it
 *   mp_ends_handler(pc)        is that the code that handlers return to, which has no call frame
 *                              information?
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
