/* How to find the caller's frame: the call frame information in every object file (.eh_frame, DWARF
 * 5 section 6.4 and the Linux Standard Base), reduced to one of the few forms that compilers emit.
 *
 * At a call, a frame's address is always computed from the stack pointer (sp: rsp, sp) or the frame
 * pointer (fp: rbp, x29). */
#ifndef MP_CFI_H
#define MP_CFI_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

struct mp_frame_rule {
    /* NONE: the table has another form. END: the function has no caller. SIGNAL: the kernel called
     * it, and the interrupted registers are in the ucontext_t at sp. RECORD: no table covers this
     * address, which follows a call. A JIT's code is assumed to keep a frame record at fp. UNKNOWN:
     * no table covers this address, and it may not be code. */
    enum mp_frame_kind {
        MP_FRAME_NONE,
        MP_FRAME_SP,
        MP_FRAME_FP,
        MP_FRAME_AT_FP,
        MP_FRAME_SIGNAL,
        MP_FRAME_END,
        MP_FRAME_RECORD,
        MP_FRAME_UNKNOWN
    } kind;
    int32_t frame; /* its address (CFA): sp + this, fp + this, or the value stored at fp + this */
    enum mp_fp_kind { MP_FP_SAME, MP_FP_SAVED, MP_FP_AT_FP } fp_kind;
    int32_t fp; /* the caller's fp is stored at the frame's address + this, or at fp + this */
    /* The return address is in the word below the frame's address, in the word after the caller's
     * fp, or still in its register. */
    enum mp_return_kind {
        MP_RETURN_BELOW,
        MP_RETURN_BEHIND_FP,
        MP_RETURN_AT_FP,
        MP_RETURN_IN_REGISTER
    } return_kind;
};

/* Returns true if object files can be found without the loader's lock. Called once, where dlsym may
 * be called. */
bool mp_cfi_init(void);
/* Finds the loader's object at this address, or returns false. Takes no lock. */
bool mp_cfi_object(uintptr_t pc, struct dl_find_object *out);
/* The pages from the main program's first segment to its last, with the gaps between them. from >=
 * to: unknown. */
struct mp_span {
    uintptr_t from, to;
};
struct mp_span mp_cfi_program(void);
/* Returns the rule at the byte before a return address. Takes no lock and no memory. The object
 * file with this address must stay loaded meanwhile, which holds because a frame returns to it. */
struct mp_frame_rule mp_cfi_rule(uintptr_t pc);
/* The rule of code that keeps a frame record: fp is the address of the caller's fp, and the return
 * address is the next word. */
struct mp_frame_rule mp_cfi_record_rule(void);

/* ---- its parts */

/* An object file's .eh_frame_hdr and the segment that contains it. Nothing outside is read,
 * whatever the tables contain. */
struct mp_cfi_tables {
    const uint8_t *from, *to, *header;
};
bool mp_cfi_tables(uintptr_t pc, struct mp_cfi_tables *out);
struct mp_frame_rule mp_cfi_rule_in(const struct mp_cfi_tables *tables, uintptr_t pc);

#endif
