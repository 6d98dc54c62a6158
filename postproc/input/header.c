#include "header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpf/frame.h"
#include "mpf/header.h"

static uint64_t number(const struct mpr_header *h, const char *key)
{
    const char *value = mpr_header_get(h, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

static void read_id(struct mpr_header *h)
{
    const char *text = mpr_header_get(h, "id");
    if (!text || strlen(text) != 2 * sizeof h->id) return;
    for (size_t i = 0; i < sizeof h->id; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) return;
        h->id[i] = (uint8_t)byte;
    }
}

static int count_pairs(const char *at, const char *end, size_t *count)
{
    const char *key, *value;
    int status;
    while ((status = mpf_pairs_next(&at, end, &key, &value)) == 1) ++*count;
    return status;
}

int mpr_header_read(struct mpr_header *h, const uint8_t *body, size_t bytes)
{
    *h = (struct mpr_header){ 0 };
    size_t count = 0;
    const int status = count_pairs((const char *)body, (const char *)body + bytes, &count);
    if (status != 0) return status;
    h->text = malloc(bytes + 1);
    h->pair = calloc(count + 1, sizeof *h->pair);
    if (!h->text || !h->pair) {
        mpr_header_free(h);
        return MPF_ERR_SPACE;
    }
    memcpy(h->text, body, bytes);
    const char *at = h->text;
    while (h->pairs < count && mpf_pairs_next(&at, h->text + bytes, &h->pair[h->pairs].key,
                                              &h->pair[h->pairs].value) == 1) h->pairs++;
    h->pid = number(h, "pid");
    h->ppid = number(h, "ppid");
    h->start = (struct mpf_clock){ number(h, "start.ticks"), number(h, "start.mono"), number(h, "start.real") };
    read_id(h);
    return 0;
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
    return status;
}

void mpr_header_free(struct mpr_header *h)
{
    free(h->pair);
    free(h->text);
    *h = (struct mpr_header){ 0 };
}

const char *mpr_header_get(const struct mpr_header *h, const char *key)
{
    for (size_t i = 0; i < h->pairs; i++) {
        if (strcmp(h->pair[i].key, key) == 0) return h->pair[i].value[0] ? h->pair[i].value : NULL;
    }
    return NULL;
}
