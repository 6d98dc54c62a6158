#include "header.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "frames.h"
#include "mpf/frame.h"
#include "mpf/header.h"

/* Sixteen times the largest header that memprof writes.  Reports often search all pairs, so a
 * damaged log must not have millions of them. */
#define BYTES_MAX ((size_t)1 << 20)

static uint64_t number(const struct mpr_header *h, const char *key)
{
    const char *value = mpr_header_get(h, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

static void read_hex(const struct mpr_header *h, const char *key, uint8_t bytes[16])
{
    const char *text = mpr_header_get(h, key);
    if (text) mpf_hex_read(text, bytes);
}

/* Sets *pairs and *text.  Returns 0 or an mpf_error. */
static int copy_pairs(struct mpr_header *h, const uint8_t *body, size_t bytes)
{
    const char *at = (const char *)body, *const end = at + bytes, *key, *value;
    size_t count = 0;
    int status;
    while ((status = mpf_pairs_next(&at, end, &key, &value)) == 1) count++;
    if (status != 0) return status;
    h->text = malloc(bytes + 1);
    h->pair = calloc(count + 1, sizeof *h->pair);
    if (!h->text || !h->pair) {
        mpr_header_free(h);
        return MPF_ERR_SPACE;
    }
    memcpy(h->text, body, bytes);
    at = h->text;
    while (h->pairs < count && mpf_pairs_next(&at, h->text + bytes, &h->pair[h->pairs].key,
                                              &h->pair[h->pairs].value) == 1)
        h->pairs++;
    return 0;
}

int mpr_header_read(struct mpr_header *h, const uint8_t *body, size_t bytes)
{
    *h = (struct mpr_header){ 0 };
    const int status = bytes > BYTES_MAX ? MPF_ERR_DAMAGED : copy_pairs(h, body, bytes);
    if (status != 0) return status;
    h->pid = number(h, "pid");
    h->ppid = number(h, "ppid");
    h->start = (struct mpf_clock){ number(h, "start.ticks"), number(h, "start.mono"),
                                   number(h, "start.real") };
    h->identity = (struct mpf_identity){ .pidns = number(h, "pidns"),
                                         .timens = number(h, "timens"),
                                         .started = number(h, "started") };
    read_hex(h, "id", h->id);
    read_hex(h, "boot", h->identity.boot);
    return 0;
}

int mpr_header_find(struct mpr_header *h, const struct mpr_map *map, size_t *end)
{
    struct mpr_frames frames;
    struct mpf_frame frame;
    *h = (struct mpr_header){ 0 };
    if (mpr_frames_open(&frames, map) != 0) return MPF_ERR_SPACE;
    int status = MPF_ERR_DAMAGED;
    if (mpr_frames_next(&frames, &frame) == 1 && !frames.damaged && frame.kind == MPF_FRAME_HEADER)
        status = mpr_header_read(h, frame.body, frame.body_bytes);
    *end = frames.at;
    mpr_frames_close(&frames);
    return status;
}

int mpr_header_read_file(struct mpr_header *h, int directory, const char *name)
{
    struct mpr_map map = { .fd = -1 };
    struct mpr_error error;
    struct stat st;
    size_t end;
    const int fd = mpr_file_open(directory, name, O_RDONLY | O_NOFOLLOW, &st);
    if (fd < 0) return -1;
    if (mpr_map_file(&map, fd, &st, name, &error) != 0) {
        close(fd);
        return -1;
    }
    const int status = mpr_header_find(h, &map, &end);
    mpr_map_close(&map);
    return status == 0 ? 0 : -1;
}

int mpr_header_from_journal(struct mpr_header *h, const struct mpf_journal *journal)
{
    char body[64];
    struct mpf_pairs pairs;
    mpf_pairs_init(&pairs, body, sizeof body);
    mpf_pairs_add_u64(&pairs, "pid", journal->pid);
    const int status = mpr_header_read(h, (const uint8_t *)body, mpf_pairs_bytes(&pairs));
    h->start = journal->start;
    memcpy(h->id, journal->id, sizeof h->id);
    h->identity = journal->process;
    return status;
}

void mpr_pairs_read_numbers(const uint8_t *body, size_t bytes, const struct mpr_pair_number *number,
                            size_t count)
{
    const char *at = (const char *)body, *const end = at + bytes, *key, *value;
    while (mpf_pairs_next(&at, end, &key, &value) == 1)
        for (size_t i = 0; i < count; i++)
            if (strcmp(key, number[i].key) == 0) *number[i].value = strtoull(value, NULL, 10);
}

void mpr_header_free(struct mpr_header *h)
{
    free(h->pair);
    free(h->text);
    *h = (struct mpr_header){ 0 };
}

const char *mpr_header_get(const struct mpr_header *h, const char *key)
{
    for (size_t i = 0; i < h->pairs; i++)
        if (strcmp(h->pair[i].key, key) == 0) return h->pair[i].value[0] ? h->pair[i].value : NULL;
    return NULL;
}
