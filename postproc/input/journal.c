/* The image is a copy and not a mapping, because a running process changes the file. */
#include "journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amount.h"
#include "basename.h"
#include "file.h"
#include "mpf/frame.h"

enum { READ_BYTES = 1 << 20 };

/* Twenty times the journal of a process with ten thousand threads. */
#define IMAGE_MAX (UINT64_C(1) << 30)

/* ---- the file */

/* Reads the head and the chunks that may be in use.  Holes need neither memory nor time. */
static bool read_image(struct mpr_journal *j)
{
    struct mpf_journal head;
    if (pread(j->fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, MPF_JOURNAL_MAGIC, sizeof head.magic) != 0)
        return false;
    uint64_t used = head.head_bytes + (uint64_t)head.chunks * MPF_CHUNK_BYTES;
    if (used > IMAGE_MAX) used = IMAGE_MAX;
    if (used > (uint64_t)j->st.st_size) used = (uint64_t)j->st.st_size;
    if (!used) return false;
    j->image = calloc(1, used);
    j->no_memory = !j->image;
    if (!j->image) return false;
    size_t at = 0, end;
    while ((at = mpr_file_skip_hole(j->fd, at, used, &end)) < used) {
        const size_t left = end - at, wanted = left < READ_BYTES ? left : READ_BYTES;
        const ssize_t n = pread(j->fd, j->image + at, wanted, (off_t)at);
        if (n <= 0) break;
        at += (size_t)n;
    }
    j->bytes = at;
    return mpf_journal_check(j->image, j->bytes, &j->head) == 0;
}

/* @log, @header: the journal must belong to this log; or NULL for any journal */
static bool load(struct mpr_journal *j, const char *path, int flags, const struct stat *log,
                 const struct mpr_header *header)
{
    *j = (struct mpr_journal){ .fd = -1 };
    if (snprintf(j->path, sizeof j->path, "%s", path) < (int)sizeof j->path)
        j->fd = mpr_file_open_named(path, O_RDONLY | flags, &j->st);
    if (j->fd >= 0 && (!log || j->st.st_uid == log->st_uid) && read_image(j) &&
        (!header || memcmp(j->head.id, header->id, sizeof header->id) == 0))
        return true;
    const bool no_memory = j->no_memory;
    mpr_journal_free(j);
    j->no_memory = no_memory;
    return false;
}

bool mpr_journal_load(struct mpr_journal *j, const char *path)
{
    return load(j, path, 0, NULL, NULL);
}

bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct stat *log,
                      const struct mpr_header *header)
{
    static const uint8_t unknown[sizeof header->id];
    char path[PATH_MAX];
    const char *recorded = mpr_header_get(header, "journal");
    *j = (struct mpr_journal){ .fd = -1 };
    if (memcmp(header->id, unknown, sizeof unknown) == 0) return false;
    snprintf(path, sizeof path, "%s.journal", log_path);
    if (load(j, path, O_NOFOLLOW, log, header)) return true;
    if (!recorded || j->no_memory) return false;
    snprintf(path, sizeof path, "%.*s%s", (int)(mpr_basename(log_path) - log_path), log_path,
             mpr_basename(recorded));
    return load(j, path, O_NOFOLLOW, log, header) ||
           (!j->no_memory && load(j, recorded, O_NOFOLLOW, log, header));
}

void mpr_journal_free(struct mpr_journal *j)
{
    free(j->image);
    if (j->fd >= 0) close(j->fd);
    *j = (struct mpr_journal){ .fd = -1 };
}

/* ---- pending events */

struct mpr_pending_chunk {
    uint64_t seq;
    uint32_t thread, index;
    const uint8_t *at;
};
struct mpr_pending_event {
    uint64_t time;        /* within a thread never less than that of an older event */
    uint32_t chunk, slot; /* chunk: its place in the list of chunks */
};

MPR_COMPARE(by_thread, struct mpr_pending_chunk,
            mpr_compare(a->thread, b->thread) ?: mpr_compare(a->seq, b->seq))

/* Events of a thread with equal times stay in the order in which they were recorded. */
MPR_COMPARE(by_time, struct mpr_pending_event,
            mpr_compare(a->time, b->time) ?: mpr_compare(a->chunk, b->chunk)
                                          ?: mpr_compare(a->slot, b->slot))

/* Returns the number of frames that the log had according to a chunk in use, or 0 if it is free. */
static uint64_t log_frames(const struct mpr_pending *p, uint32_t index)
{
    struct mpf_chunk c;
    const uint64_t at = p->head.head_bytes + (uint64_t)index * MPF_CHUNK_BYTES;
    if (at + MPF_CHUNK_BYTES > p->bytes) return 0;
    memcpy(&c, p->image + at, offsetof(struct mpf_chunk, slot));
    return c.state == MPF_CHUNK_USED && c.tag ? c.frame : 0;
}

/* Lists the chunks that have pending events, and counts the events.  @found: room for the events of
 * one chunk */
static int list_chunks(struct mpr_pending *p, uint64_t frames, struct mpf_recovered *found)
{
    p->chunk = calloc((size_t)p->head.chunks + 1, sizeof *p->chunk);
    if (!p->chunk) return MPF_ERR_SPACE;
    for (uint32_t i = 0; i < p->head.chunks; i++) {
        uint32_t torn = 0;
        const uint32_t count =
            mpf_journal_chunk(p->image, p->bytes, &p->head, i, frames, found, &torn);
        p->torn += torn;
        if (log_frames(p, i) > p->log_frames) p->log_frames = log_frames(p, i);
        if (!count) continue;
        p->chunk[p->chunks++] =
            (struct mpr_pending_chunk){ found->seq, found->thread, i, found->chunk };
        p->cap += count;
    }
    qsort(p->chunk, p->chunks, sizeof *p->chunk, by_thread);
    return 0;
}

static int list_events(struct mpr_pending *p, uint64_t frames, struct mpf_recovered *found)
{
    p->event = malloc((p->cap + 1) * sizeof *p->event);
    if (!p->event) return MPF_ERR_SPACE;
    uint64_t newest = 0;
    for (uint32_t c = 0; c < p->chunks; c++) {
        uint32_t torn;
        if (c && p->chunk[c].thread != p->chunk[c - 1].thread) newest = 0;
        const uint32_t count = mpf_journal_chunk(p->image, p->bytes, &p->head, p->chunk[c].index,
                                                 frames, found, &torn);
        for (uint32_t i = 0; i < count && p->events < p->cap; i++) {
            if (found[i].time > newest) newest = found[i].time;
            p->event[p->events++] = (struct mpr_pending_event){ newest, c, found[i].slot };
        }
    }
    qsort(p->event, p->events, sizeof *p->event, by_time);
    return 0;
}

int mpr_pending_open(struct mpr_pending *p, const uint8_t *image, size_t bytes, uint64_t frames)
{
    *p = (struct mpr_pending){ .image = image, .bytes = bytes };
    int error = mpf_journal_check(image, bytes, &p->head);
    if (error) return error;
    if (p->head.chunks > bytes / MPF_CHUNK_BYTES)
        p->head.chunks = (uint32_t)(bytes / MPF_CHUNK_BYTES);
    struct mpf_recovered *found = malloc(MPF_CHUNK_SLOTS * sizeof *found);
    if (!found) return MPF_ERR_SPACE;
    error = list_chunks(p, frames, found);
    if (!error) error = list_events(p, frames, found);
    free(found);
    if (error) mpr_pending_close(p);
    return error;
}

void mpr_pending_close(struct mpr_pending *p)
{
    free(p->chunk);
    free(p->event);
    *p = (struct mpr_pending){ 0 };
}

int mpr_pending_next(struct mpr_pending *p, uint64_t origin, struct mpf_event *event, uint8_t *data)
{
    while (p->next < p->events) {
        const struct mpr_pending_event *e = &p->event[p->next++];
        const struct mpr_pending_chunk *c = &p->chunk[e->chunk];
        const struct mpf_recovered from = { e->time, c->seq, c->thread, e->slot, c->at };
        if (mpf_journal_event(&from, &p->head.start, &p->head.last, origin, event, data) == 0)
            return 1;
        p->torn++;
    }
    return 0;
}

uint8_t *mpr_pending_payload(const struct mpr_pending *p, size_t *bytes)
{
    const size_t chunks_at = MPF_FRAME_HEAD + MPF_JOURNAL_HEAD;
    struct mpf_journal head = p->head;
    *bytes = chunks_at + p->chunks * MPF_CHUNK_BYTES;
    uint8_t *payload = calloc(1, *bytes);
    if (!payload) return NULL;
    head.chunks = (uint32_t)p->chunks;
    head.head_bytes = MPF_JOURNAL_HEAD;
    head.flags = 0; /* those are about the file */
    head.self = head.log = head.heir = (struct mpf_file){ 0 };
    memcpy(payload + MPF_FRAME_HEAD, &head, sizeof head);
    for (size_t i = 0; i < p->chunks; i++)
        memcpy(payload + chunks_at + i * MPF_CHUNK_BYTES, p->chunk[i].at, MPF_CHUNK_BYTES);
    return payload;
}
