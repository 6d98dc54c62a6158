/* Reads a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) into tables.
 *
 * The file is a pickle, a program for a stack machine that builds Python's objects.  This machine
 * knows the opcodes that such a snapshot uses, in protocols 2 to 5.  They build dictionaries,
 * lists, tuples, texts, numbers, True, False and None.  It imports nothing and calls nothing.
 *
 * A dictionary becomes a row of a table as soon as it is complete, by its keys, so memory is a
 * fraction of the file's size.  Texts stay in the file, which must be mapped as long as the tables
 * live.
 *
 * The fields are those of torch/csrc/cuda/memory_snapshot.cpp and torch/csrc/cuda/Module.cpp.  A
 * field that is missing is 0, or UINT64_MAX for a time. */
#ifndef MPR_PICKLE_H
#define MPR_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct mpr_map;

/* Part of the file: UTF-8, without a zero at the end. */
struct mpr_pickle_text {
    uint64_t at;
    uint32_t bytes;
};

struct mpr_pickle_frame {
    struct mpr_pickle_text name, file;
    uint64_t line;
};

/* A call stack: numbers of frames, innermost call first. */
struct mpr_pickle_stack {
    uint64_t first; /* in stack_frame */
    uint32_t frames;
};

enum mpr_pickle_action {
    MPR_PICKLE_ALLOC,
    MPR_PICKLE_FREE_REQUESTED,
    MPR_PICKLE_FREE_COMPLETED,
    MPR_PICKLE_SEGMENT_ALLOC,
    MPR_PICKLE_SEGMENT_FREE,
    MPR_PICKLE_SEGMENT_MAP,
    MPR_PICKLE_SEGMENT_UNMAP,
    MPR_PICKLE_OOM,
    MPR_PICKLE_OTHER
};

struct mpr_pickle_entry {
    uint64_t addr, size, stream;
    uint64_t time_us;     /* since 1970 */
    uint64_t device_free; /* OOM: bytes, or UINT64_MAX */
    uint32_t stack;       /* number from 1, or 0 */
    uint8_t action;
};

struct mpr_pickle_block {
    uint64_t addr, size, requested;
    uint32_t stack;
    bool allocated; /* not free, and not waiting for an event of another stream */
};

struct mpr_pickle_segment {
    uint64_t addr, size, stream, device, pool[2];
    uint32_t stack;
    bool expandable;
    uint32_t list; /* its blocks, or 0 */
};

struct mpr_pickle_annotation {
    struct mpr_pickle_text name;
    uint64_t time_us;
    bool begins;
};

struct mpr_pickle_object;
struct mpr_pickle_list;

struct mpr_pickle {
    const uint8_t *data; /* of the file */
    size_t bytes;
    struct mpr_pickle_frame *frame; /* [0] is unused, as in the other tables */
    uint32_t frames, frame_cap;
    struct mpr_pickle_stack *stack;
    uint32_t stacks, stack_cap;
    uint32_t *stack_frame;
    uint64_t stack_frames, stack_frame_cap;
    struct mpr_pickle_entry *entry;
    uint32_t entries, entry_cap;
    struct mpr_pickle_block *block;
    uint32_t blocks, block_cap;
    struct mpr_pickle_segment *segment;
    uint32_t segments, segment_cap;
    struct mpr_pickle_annotation *annotation;
    uint32_t annotations, annotation_cap;
    struct mpr_pickle_list *list; /* of objects */
    uint32_t lists, list_cap, unused_list;
    struct mpr_pickle_object *object;
    uint32_t objects, object_cap;
    uint32_t traces, all_segments, all_annotations; /* lists of the outermost dictionary, or 0 */
};

/* Returns true if the file begins as a pickle of protocol 2 to 5. */
bool mpr_pickle_recognizes(const uint8_t *data, size_t bytes);
/* Reads the file, and releases pages of the map that were read.  Returns 0, or -1 with *error
 * filled and nothing to free. */
int mpr_pickle_read(struct mpr_pickle *pickle, struct mpr_map *map, const char *path,
                    struct mpr_error *error);
void mpr_pickle_free(struct mpr_pickle *pickle);

/* ---- lists: they contain rows of a table or other lists; other values are left out */

uint32_t mpr_pickle_length(const struct mpr_pickle *pickle, uint32_t list);
/* Returns the number of the row in its table, or 0 if the element is of another kind. */
uint32_t mpr_pickle_entry_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index);
uint32_t mpr_pickle_segment_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index);
uint32_t mpr_pickle_block_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index);
uint32_t mpr_pickle_annotation_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index);
uint32_t mpr_pickle_list_at(const struct mpr_pickle *pickle, uint32_t list, uint32_t index);

#endif
