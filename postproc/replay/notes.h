/* Data by a 64-bit id, as an event brought it: call stacks, frames, layouts.  The first note of an id counts. */
#ifndef MPR_NOTES_H
#define MPR_NOTES_H

#include <stddef.h>
#include <stdint.h>

struct mpr_note { uint64_t id; uint32_t bytes, value; uint8_t *data; };

struct mpr_notes { struct mpr_note *at; size_t count, places; };

void mpr_notes_free(struct mpr_notes *notes);
/* Beyond MPR_NOTES_MAX and without memory a note is dropped. */
void mpr_notes_add(struct mpr_notes *notes, uint64_t id, const uint8_t *data, size_t bytes);
/* NULL when there is none; valid until the next addition.  `value` is the caller's to set, 0 at first. */
struct mpr_note *mpr_notes_get(const struct mpr_notes *notes, uint64_t id);

static inline uint64_t mpr_note_word(const struct mpr_note *note, size_t index)
{
    uint64_t word = 0;
    if ((index + 1) * sizeof word <= note->bytes) __builtin_memcpy(&word, note->data + index * sizeof word, sizeof word);
    return word;
}

#define MPR_NOTES_MAX ((size_t)1 << 20)

#endif
