/* Pictures of the devices at instants that are spread over the run: each just before an event of a
 * device, when nothing has changed for a while.
 *
 * At most so many are kept, however long the run is: when there are more, those go that are nearer
 * to the one before than so many would be that are spread evenly.  Some stay whatever their
 * distance: when PyTorch held most of a device, and those that somebody wants, a quarter of all at
 * most.  A picture holds on to what goes after it, so the memory grows with what is live at the
 * kept instants. */
#ifndef MPR_INSTANTS_H
#define MPR_INSTANTS_H

#include "replay_state.h"

struct mpr_instants;

/* most: an even number.  from, to: ns, both included. */
struct mpr_instants *mpr_instants_new(size_t most, uint64_t from, uint64_t to);
void mpr_instants_free(struct mpr_instants *instants);

/* Before an event of a device. */
void mpr_instants_turn(struct mpr_instants *instants, const struct mpr_replay *r);
/* A block goes, or loses its address. */
void mpr_instants_gone(struct mpr_instants *instants, const struct mpr_gpu_block *b);
/* What is so after the event under way stays, if it stays so for a while. */
void mpr_instants_want(struct mpr_instants *instants);
/* After the last event. */
void mpr_instants_end(struct mpr_instants *instants, const struct mpr_replay *r);

/* In order of time; at most `most`, one, and one for each device. */
size_t mpr_instants_count(const struct mpr_instants *instants);
/* Is it one of those that stay? */
bool mpr_instants_stays(const struct mpr_instants *instants, size_t index);
/* ns: since when the devices were as they are in the pictures. */
uint64_t mpr_instants_since(const struct mpr_instants *instants, size_t index);
/* Of a device then, gathered after the last event; the caller frees it.  Not valid: the device was
 * not used yet. */
struct mpr_picture mpr_instants_picture(const struct mpr_instants *instants, size_t index,
                                        unsigned device, const struct mpr_replay *r);

#endif
