#include "mpf/journal.h"

#include <stdbool.h>
#include <string.h>

#include "mpf/columns.h"
#include "mpf/frame.h"

int mpf_journal_check(const uint8_t *file, size_t bytes, struct mpf_journal *head)
{
    if (bytes < MPF_JOURNAL_HEAD_1_1) return MPF_ERR_TRUNCATED;
    *head = (struct mpf_journal){ 0 };
    memcpy(head, file, bytes < sizeof *head ? bytes : sizeof *head);
    if (memcmp(head->magic, MPF_JOURNAL_MAGIC, sizeof head->magic) != 0) return MPF_ERR_DAMAGED;
    if (head->major > MPF_MAJOR) return MPF_ERR_VERSION;
    if (head->chunk_bytes != MPF_CHUNK_BYTES || head->slot_bytes != sizeof(struct mpf_slot))
        return MPF_ERR_DAMAGED;
    const uint32_t known = head->head_bytes;
    if (known < MPF_JOURNAL_HEAD_1_1) return MPF_ERR_DAMAGED;
    if (known > bytes) return MPF_ERR_TRUNCATED;
    if (known < sizeof *head) memset((uint8_t *)head + known, 0, sizeof *head - known);
    return MPF_OK;
}

static struct mpf_slot slot_of(const uint8_t *chunk, uint32_t slot)
{
    struct mpf_slot s;
    memcpy(&s, chunk + MPF_CHUNK_HEAD + slot * sizeof s, sizeof s);
    return s;
}

static bool committed(const uint8_t *chunk, uint8_t tag, uint32_t slot)
{
    return mpf_slot_tag(slot_of(chunk, slot).head) == tag;
}

/* Slots of the event at `slot`: 1, and more with data; 0 when its data is not there. */
static uint32_t extent(const uint8_t *chunk, uint8_t tag, uint32_t slot)
{
    const struct mpf_slot s = slot_of(chunk, slot);
    if (mpf_op_class(mpf_slot_op(s.head)) != MPF_CLASS_DATA) return 1;
    const uint64_t size = mpf_slot_size(s.head);
    const uint32_t more = size <= MPF_DATA_MAX ? mpf_data_slots(size) : MPF_CHUNK_SLOTS;
    if (slot + 1 + more > MPF_CHUNK_SLOTS) return 0;
    for (uint32_t i = slot + 1; i <= slot + more; i++)
        if (!committed(chunk, tag, i) || mpf_slot_op(slot_of(chunk, i).head) != MPF_OP_CONT)
            return 0;
    return 1 + more;
}

uint32_t mpf_journal_chunk(const uint8_t *file, size_t bytes, const struct mpf_journal *head,
                           uint32_t index, uint64_t frames, struct mpf_recovered *out,
                           uint32_t *torn)
{
    *torn = 0;
    const uint64_t at = head->head_bytes + (uint64_t)index * MPF_CHUNK_BYTES;
    if (at + MPF_CHUNK_BYTES > bytes) return 0;
    const uint8_t *chunk = file + at;
    struct mpf_chunk c;
    memcpy(&c, chunk, offsetof(struct mpf_chunk, slot));
    if (c.state != MPF_CHUNK_USED || !c.tag) return 0;
    uint32_t n = 0, holes = 0;
    uint64_t time = 0;
    for (uint32_t i = c.frame < frames ? c.drained_next : c.drained; i < MPF_CHUNK_SLOTS;) {
        if (!committed(chunk, c.tag, i)) {
            holes++;
            i++;
            continue;
        }
        const struct mpf_slot s = slot_of(chunk, i);
        const uint32_t slots = extent(chunk, c.tag, i);
        /* of an event that is in the log, or torn before its end */
        if (mpf_slot_op(s.head) == MPF_OP_CONT) {
            i++;
            continue;
        }
        *torn += (uint32_t)(holes > 0) + !slots;
        holes = 0;
        if (slots) {
            if (s.time > time) time = s.time;
            out[n++] = (struct mpf_recovered){ time, c.seq, c.thread, i, chunk };
        }
        i += slots ? slots : 1;
    }
    return n;
}

int mpf_journal_event(const struct mpf_recovered *from, const struct mpf_clock *start,
                      const struct mpf_clock *last, uint64_t origin, struct mpf_event *event,
                      uint8_t *data)
{
    const struct mpf_slot s = slot_of(from->chunk, from->slot);
    const uint64_t size = mpf_slot_size(s.head);
    *event = (struct mpf_event){
        .time = mpf_clock_ns(start, last, origin, from->time),
        .addr = s.addr,
        .size = size,
        .thread = from->thread,
        .op = (uint8_t)mpf_slot_op(s.head),
        .heap = (uint8_t)mpf_slot_heap(s.head),
    };
    if (mpf_op_class(event->op) == MPF_CLASS_NONE) return MPF_ERR_DAMAGED;
    if (mpf_op_class(event->op) != MPF_CLASS_DATA) return MPF_OK;
    if (size > MPF_DATA_MAX || from->slot + 1 + mpf_data_slots(size) > MPF_CHUNK_SLOTS)
        return MPF_ERR_DAMAGED;
    for (uint64_t i = 0; i < size; i += MPF_CONT_BYTES)
        memcpy(data + i,
               from->chunk + MPF_CHUNK_HEAD + (from->slot + 1 + i / MPF_CONT_BYTES) * sizeof s,
               size - i < MPF_CONT_BYTES ? size - i : MPF_CONT_BYTES);
    event->data = data;
    return MPF_OK;
}
