#include "notes.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define FIRST_PLACES 256u

void mpr_notes_free(struct mpr_notes *notes)
{
    for (size_t i = 0; i < notes->places; i++) free(notes->at[i].data);
    free(notes->at);
}

static struct mpr_note *find(const struct mpr_notes *notes, uint64_t id)
{
    size_t at = mpr_hash(id) & (notes->places - 1);
    while (notes->at[at].data && notes->at[at].id != id) at = (at + 1) & (notes->places - 1);
    return &notes->at[at];
}

static int grow(struct mpr_notes *notes)
{
    const struct mpr_notes old = *notes;
    const size_t places = old.places ? old.places * 2 : FIRST_PLACES;
    struct mpr_note *at = calloc(places, sizeof *at);
    if (!at) return -1;
    notes->at = at;
    notes->places = places;
    for (size_t i = 0; i < old.places; i++) {
        if (old.at[i].data) *find(notes, old.at[i].id) = old.at[i];
    }
    free(old.at);
    return 0;
}

void mpr_notes_add(struct mpr_notes *notes, uint64_t id, const uint8_t *data, size_t bytes)
{
    if (notes->count >= MPR_NOTES_MAX || (notes->count >= notes->places / 2 && grow(notes) != 0)) return;
    struct mpr_note *note = find(notes, id);
    if (note->data) return;
    uint8_t *copy = malloc(bytes + 1);
    if (!copy) return;
    if (bytes) memcpy(copy, data, bytes);
    copy[bytes] = 0;
    *note = (struct mpr_note){ .id = id, .bytes = (uint32_t)bytes, .data = copy };
    notes->count++;
}

struct mpr_note *mpr_notes_get(const struct mpr_notes *notes, uint64_t id)
{
    struct mpr_note *note = notes->places ? find(notes, id) : NULL;
    return note && note->data ? note : NULL;
}
