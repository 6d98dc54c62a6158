/* Frames and call stacks with numbers, for files of other tools. Ranges are functions without a
 * file.
 *
 * The numbers belong to one log and stay valid if the log is read again. Everything lives until
 * mpr_code_free. */
#ifndef MPR_CODE_H
#define MPR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "index.h"

struct mpr_reader;
struct mpr_site;

struct mpr_code_frame {
    const struct mpr_frame *frame;
    const char *function; /* with the path of its module */
    uint64_t address;     /* the return address of a native call, else 0 */
    uint32_t module;      /* the object file's number in sites.h, 0 if unknown */
    bool inlined;         /* inlined into the next frame of its stack, which has the same address */
};

/* Numbers of frames, innermost first. */
struct mpr_code_stack {
    const uint32_t *frame;
    size_t frames;
};

/* Initially all zero. */
struct mpr_code {
    struct mpr_arena arena;
    struct mpr_code_frame *frame;
    struct mpr_code_stack *stack; /* by number - 1 */
    uint32_t frames, frame_cap, stacks, stack_cap;
    struct mpr_index frame_at;     /* frame + 1, by name and domain of the ranges */
    uint32_t *of_node, *of_native; /* number of the stack, by node of ranges and native stacks */
    uint32_t nodes, natives;
    struct mpr_index call_at; /* the first frame of a return address + 1, by the address of its
                                 array of calls */
};

void mpr_code_free(struct mpr_code *code);
/* Return the number of a site's stack (the Python stack, otherwise the native one), and of a
 * path of ranges; 0 if it is empty. */
uint32_t mpr_code_of_site(struct mpr_code *code, const struct mpr_reader *reader,
                          struct mpr_site at);
uint32_t mpr_code_of_node(struct mpr_code *code, const struct mpr_reader *reader, uint32_t node);
/* Returns the stack with that number; an empty one for 0. Valid until the next call of the two
 * functions above. */
struct mpr_code_stack mpr_code_stack(const struct mpr_code *code, uint32_t number);

#endif
