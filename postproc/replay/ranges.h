/* Names, domains, Python frames, and the tree of range paths.
 *
 * A node of the tree is one path: its parent, and the name and domain of its innermost range.  Node
 * 0 is the empty path. */
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
    struct mpr_texts names, domains; /* the name of a Python frame is its function, a zero byte and
                                        its file */
    uint64_t *line;                  /* line numbers of the Python frames */
    uint32_t frames, frame_cap;
    struct mpr_index plain; /* names without their numbers, by hash: number of the first one + 1 */
    struct mpr_index same;  /* from a name to the first name with the same text, + 1 */
    struct mpr_node *node;
    uint32_t nodes, node_cap;
    struct mpr_index number; /* nodes by hash of (parent, name, domain) */
};

/* Numbers from here on are names of Python frames, not of the log.  The last number is the name of
 * the node below which the backward ranges are ("backward of"). */
#define MPR_FRAME_NAME    UINT32_C(0x80000000)
#define MPR_BACKWARD_NAME UINT32_MAX

/* The maximum depth of a path.  Deeper ranges belong to the path of this depth. */
#define MPR_PATH_MAX 512u

/* The maximum bytes of all texts.  Further texts are dropped. */
#define MPR_TEXTS_BYTES ((size_t)32 << 20)

void mpr_ranges_init(struct mpr_ranges *r);
void mpr_ranges_free(struct mpr_ranges *r);
/* Returns the child of a node, which is made if it is new, or the parent at the maximum depth. */
uint32_t mpr_ranges_child(struct mpr_ranges *r, uint32_t parent, uint32_t name, uint32_t domain);

/* Defines a text. The first definition of a number counts. */
void mpr_texts_set(struct mpr_texts *texts, uint32_t id, const uint8_t *data, size_t bytes);
/* Returns NULL if the number was never defined. */
const char *mpr_texts_get(const struct mpr_texts *texts, uint32_t id, size_t *bytes);
/* Returns the domain's name, "" if it was not defined. */
const char *mpr_ranges_domain(const struct mpr_ranges *r, uint32_t domain);

/* Defines a name of the log. */
void mpr_ranges_set_name(struct mpr_ranges *r, uint32_t id, const uint8_t *data, size_t bytes);
/* Returns the number of a name.  Names that differ only in numbers of a compilation share one. */
static inline uint32_t mpr_ranges_name(const struct mpr_ranges *r, uint32_t id)
{
    const uint32_t same = mpr_index_get(&r->same, id);
    return same ? same - 1 : id;
}
/* Returns true for a name of a range by TSL or XLA (TraceMe), such as
 * "XlaModule:#hlo_module=jit_step,program_id=78765#".  The numbers change with each compilation. */
bool mpr_is_traceme(const char *name, size_t bytes);
/* Writes such a name without its numbers ("XlaModule jit_step"), without a terminating NUL. Returns
 * its bytes, which are fewer than @bytes. */
size_t mpr_traceme_plain(const char *name, size_t bytes, char *out);

/* Adds a Python frame, copies its texts and returns its name. */
uint32_t mpr_ranges_add_frame(struct mpr_ranges *r, const struct mpr_python_frame *frame);
/* Returns the frame of a name. Its function is NULL if the name is unknown. */
struct mpr_python_frame mpr_ranges_frame(const struct mpr_ranges *r, uint32_t name);
/* Returns the part of a Python file's path that reports show.  That is its base name for the
 * program's own code.  For other code it has a slash: "torch/nn/modules/module.py",
 * "site-packages/six.py", "python3.12/json/__init__.py", "bin/torchrun". */
const char *mpr_python_file(const char *path);

#endif
