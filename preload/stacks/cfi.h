/* How to get from a function's frame to its caller's: the call frame information that every object
 * file carries
 * (.eh_frame, DWARF 5 section 6.4 and the Linux Standard Base), brought to one of the few forms
 * that compilers make.
 *
 * Registers are those of x86-64: rsp and rbp are all that a frame's address is ever made from at a
 * call. */
#ifndef MP_CFI_H
#define MP_CFI_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

struct mp_frame_rule {
    /* MP_FRAME_END: nobody called it.  MP_FRAME_SIGNAL: the kernel did, the registers before are in
     * the ucontext_t at rsp. */
    enum mp_frame_kind {
        MP_FRAME_NONE,
        MP_FRAME_RSP,
        MP_FRAME_RBP,
        MP_FRAME_AT_RBP,
        MP_FRAME_SIGNAL,
        MP_FRAME_END
    } kind;
    int32_t frame; /* its address (CFA): rsp + this, rbp + this, or what is stored at rbp + this */
    enum mp_rbp_kind { MP_RBP_SAME, MP_RBP_SAVED, MP_RBP_AT_RBP } rbp_kind;
    int32_t rbp; /* the caller's rbp is stored at the frame's address + this, or at rbp + this */
};

/* Can object files be found without the loader's lock?  Called once, where dlsym may be. */
bool mp_cfi_init(void);
/* What the loader has at this address; false: nothing.  Takes no lock. */
bool mp_cfi_object(uintptr_t pc, struct dl_find_object *out);
/* The rule at this address of code; kind MP_FRAME_NONE: there is none, or none of these forms.
 * Takes no lock and no memory.  The code must be of an object file that stays loaded meanwhile:
 * some frame returns to it. */
struct mp_frame_rule mp_cfi_rule(uintptr_t pc);

/* ---- its parts */

/* Where an object file's .eh_frame_hdr is, and the segment that holds it: nothing else is read,
 * whatever stands there. */
struct mp_cfi_tables {
    const uint8_t *from, *to, *header;
};
bool mp_cfi_tables(uintptr_t pc, struct mp_cfi_tables *out);
struct mp_frame_rule mp_cfi_rule_in(const struct mp_cfi_tables *tables, uintptr_t pc);

#endif
