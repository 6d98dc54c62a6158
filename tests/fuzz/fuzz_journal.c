/* Reads a journal: its head, the committed slots of its chunks, and their events. */
#include "fuzz.h"
#include "mpf/frame.h"
#include "mpf/journal.h"

static void decode(const struct mpf_recovered *from, const struct mpf_journal *head)
{
    static uint8_t data[MPF_DATA_MAX];
    struct mpf_event e;
    if (mpf_journal_event(from, &head->start, &head->last, 0, &e, data) != MPF_OK) return;
    if (e.data) FUZZ_HOLDS(e.data == data && e.size <= sizeof data);
}

int LLVMFuzzerTestOneInput(const uint8_t *file, size_t bytes)
{
    static struct mpf_recovered slot[MPF_CHUNK_SLOTS];
    struct mpf_journal head;
    if (mpf_journal_check(file, bytes, &head) != MPF_OK) return 0;
    for (uint32_t i = 0; i < head.chunks && i < bytes / MPF_CHUNK_BYTES + 1; i++) {
        uint32_t torn;
        const uint32_t n = mpf_journal_chunk(file, bytes, &head, i, 0, slot, &torn);
        FUZZ_HOLDS(n <= MPF_CHUNK_SLOTS && torn <= MPF_CHUNK_SLOTS);
        for (uint32_t s = 0; s < n; s++) decode(&slot[s], &head);
    }
    return 0;
}
