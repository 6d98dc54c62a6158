/* Names, domains and the tree of range paths.
 *
 * A node is one path: its parent and the name and domain of its innermost range.  Node 0 is the
 * empty path. */
#ifndef MPR_RANGES_H
#define MPR_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"

/* Texts by number, as the program gave them: any bytes. */
struct mpr_texts {
    struct mpr_text {
        const char *at;
        uint32_t bytes;
    } * text;
    uint32_t count, cap;
    struct mpr_index number; /* by id: place + 1 */
    size_t bytes;            /* of all texts */
};

struct mpr_node {
    uint32_t parent, name, domain, depth;
};

/* file: the whole path; "" if the frame has no place in code. */
struct mpr_python_frame {
    const char *function, *file;
    uint64_t line;
};

struct mpr_ranges {
    struct mpr_texts names, domains; /* a Python frame's: function, 0, file */
    uint64_t *line;                  /* each Python frame's */
    uint32_t frames, frame_cap;
    struct mpr_index plain; /* of names that lost their numbers (traceme.h), by hash of their text:
                               number + 1 of the first of each */
    struct mpr_index same;  /* by a later one's number: that first one's + 1 */
    struct mpr_node *node;
    uint32_t nodes, node_cap;
    struct mpr_index number; /* of nodes by hash of (parent, name, domain) */
};

void mpr_ranges_init(struct mpr_ranges *r);
void mpr_ranges_free(struct mpr_ranges *r);

/* Names that are no texts of the log: of Python frames, from here on; and of the ranges that stand
 * below "backward of". */
#define MPR_FRAME_NAME    UINT32_C(0x80000000)
#define MPR_BACKWARD_NAME UINT32_MAX

/* Names in one path; deeper ranges belong to the path of this depth */
#define MPR_PATH_MAX 512u

/* The child of a node, made when new; at the longest path's end the parent itself. */
uint32_t mpr_ranges_child(struct mpr_ranges *r, uint32_t parent, uint32_t name, uint32_t domain);
/* Defines a text (the first definition of a number counts).  Beyond MPR_TEXTS_BYTES texts are
 * dropped: bounded memory. */
void mpr_texts_set(struct mpr_texts *texts, uint32_t id, const uint8_t *data, size_t bytes);
/* NULL when the number was never defined. */
const char *mpr_texts_get(const struct mpr_texts *texts, uint32_t id, size_t *bytes);

/* Defines a name as the log has it.  Those that differ only in numbers of a compilation become one:
 * mpr_ranges_name is its number, or the number itself. */
void mpr_ranges_set_name(struct mpr_ranges *r, uint32_t id, const uint8_t *data, size_t bytes);
static inline uint32_t mpr_ranges_name(const struct mpr_ranges *r, uint32_t id)
{
    const uint32_t same = mpr_index_get(&r->same, id);
    return same ? same - 1 : id;
}

/* Adds a Python frame, copies its texts and returns its name. */
uint32_t mpr_ranges_add_frame(struct mpr_ranges *r, const struct mpr_python_frame *frame);
/* The frame of a name; its function is NULL if it is unknown. */
struct mpr_python_frame mpr_ranges_frame(const struct mpr_ranges *r, uint32_t name);

/* The domain's name; "" for none, and for one that was never defined. */
const char *mpr_ranges_domain(const struct mpr_ranges *r, uint32_t domain);

#define MPR_TEXTS_BYTES ((size_t)32 << 20)

#endif
