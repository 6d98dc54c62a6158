/* Frames and paths for the numbers of replay: nodes, call stacks, threads, size classes and
 * libraries. Private to this layer.
 *
 * A reader creates each frame once, in the arena of the first call that needs it. Later calls
 * return the same frame, so their arenas must not outlive that one. */
#ifndef MPR_LABELS_H
#define MPR_LABELS_H

#include "arena.h"
#include "reader.h"

/* Returns true if some of the heap's blocks were only counted from time to time, so that its peak
 * is approximate. */
bool mpr_label_is_approximate(const struct mpr_replay *r, uint8_t heap);
/* Returns true if other heaps also count each byte of this one, so that sums must not include
 * it: the heap of the regions that libraries register with NVTX. */
bool mpr_label_is_nested(uint8_t heap);
/* Returns the cell's path, outermost first: ranges, calls, or one frame for a thread, a size
 * class, a library or a heap. */
struct mpr_path mpr_label_path(struct mpr_arena *arena, const struct mpr_reader *reader,
                               const struct mpr_cell *cell);
/* Returns true if the cell's bytes are a lower bound: it has sampled blocks, and the blocks of
 * the same site that they represent are in another cell. */
bool mpr_label_at_least(const struct mpr_replay *r, const struct mpr_cell *cell);
/* Return the path of a node of the ranges, and of a native call stack, outermost first. */
struct mpr_path mpr_label_node(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t node);
struct mpr_path mpr_label_stack(struct mpr_arena *arena, const struct mpr_reader *reader,
                                uint32_t stack);
/* Returns the path of the ranges; if there are none, of the Python stack, or of the native
 * stack. */
struct mpr_path mpr_label_best(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t node, struct mpr_site at);
/* Returns a line for each reason why names are missing. */
const char *const *mpr_label_notes(struct mpr_arena *arena, const struct mpr_reader *reader,
                                   size_t *notes);
/* Returns true if native calls have no names because libdw is not installed on this machine. */
bool mpr_label_is_libdw_missing(void);
/* Returns "domain:name", or the name alone in the default domain. */
const char *mpr_label_name(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t name,
                           uint32_t domain);
/* Returns the frame of a node: its innermost range or call. */
const struct mpr_frame *mpr_label_frame(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        uint32_t node);
/* Returns the id of an NCCL communicator as text, or "(id not known)". */
const char *mpr_label_comm(struct mpr_arena *arena, const struct mpr_comm *comm);
/* "over 1 KiB to 2 KiB". */
const char *mpr_label_size(struct mpr_arena *arena, uint32_t class);
/* Returns the name of blocks that the log only has as sums: those that were counted, or those from
 * before an attach. NULL without such blocks. */
const char *mpr_label_unrecorded(struct mpr_arena *arena, const struct mpr_replay *r);
/* Returns the owner of the blocks in the cell of a thread: the thread's name. The cell of thread
 * 0, memprof itself, has the blocks that were counted but not recorded. */
const char *mpr_label_owner(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number);
/* The same as a frame, whose name is without the kernel's number. */
const struct mpr_frame *mpr_label_owner_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                              uint32_t number);
const char *mpr_label_thread(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number);
const struct mpr_frame *mpr_label_library_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                                uint32_t library);

/* ---- the calls of native stacks, each looked up once */

struct mpr_names;
struct mpr_symbol; /* symbols.h */

/* path and id of the log, which may have stored names (symbols.h); NULL for no log. */
struct mpr_names *mpr_names_new(const char *log, const uint8_t id[16]);
void mpr_names_free(struct mpr_names *names);
/* Returns the calls at a node of the native stacks, innermost first; several if some are inlined.
 * They live in the arena, which must be the same in each call. */
const struct mpr_frame *const *mpr_names_at(struct mpr_names *names, struct mpr_arena *arena,
                                            const struct mpr_sites *sites, uint32_t node,
                                            size_t *count);
/* Returns the calls at a return address in a module (symbols.h). */
const struct mpr_symbol *mpr_names_calls(struct mpr_names *names, const struct mpr_sites *sites,
                                         uint32_t module, uint64_t pc, size_t *count);
/* Returns true if a newer memprof stored the names. */
bool mpr_names_are_newer(struct mpr_names *names);
/* Returns a line for each reason why names are missing. */
const char *const *mpr_names_notes(const struct mpr_names *names, struct mpr_arena *arena,
                                   const struct mpr_sites *sites, size_t *notes);

#endif
