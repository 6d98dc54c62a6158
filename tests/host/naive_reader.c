/* `naive_reader LOG`: a second reader of logs, for tests. It prints as JSON the header, the counts
 * and the live set at the end, sorted by address. It is simple on purpose: it has one table, reads
 * no journal and repairs nothing. So it reads only logs of processes that ended normally. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpf/columns.h"
#include "mpf/event.h"
#include "mpf/frame.h"
#include "mpf/header.h"

/* ---- the table: open addressing, address to size */

enum { SLOTS = 1 << 21 };
#define FREED UINT64_MAX
/* addr 0: never used; size FREED: not live */
static struct block {
    uint64_t addr, size;
} table[SLOTS];
static uint64_t allocations, frees, failures, unmatched, live_bytes, peak_bytes, events,
    moving[1 << 16];

static struct block *find(uint64_t addr)
{
    for (uint64_t i = addr * 0x9E3779B97F4A7C15u >> 43;; i = (i + 1) % SLOTS)
        if (table[i].addr == addr || !table[i].addr) return &table[i];
}

static void insert(uint64_t addr, uint64_t size)
{
    *find(addr) = (struct block){ addr, size };
    live_bytes += size;
    allocations++;
    if (live_bytes > peak_bytes) peak_bytes = live_bytes;
}

static void drop(uint64_t addr)
{
    struct block *b = find(addr);
    if (!b->addr || b->size == FREED) {
        unmatched++;
        return;
    }
    live_bytes -= b->size;
    b->size = FREED;
    frees++;
}

static void take(const struct mpf_event *e)
{
    uint64_t *const old = &moving[e->thread % (sizeof moving / sizeof *moving)];
    events++;
    if (e->op == MPF_OP_ALLOC) insert(e->addr, e->size);
    else if (e->op == MPF_OP_FREE) drop(e->addr);
    else if (e->op == MPF_OP_MOVE_BEGIN) *old = e->addr;
    else if (e->op == MPF_OP_MOVE_END) {
        drop(*old);
        *old = 0;
        if (e->addr) insert(e->addr, e->size);
    } else if (e->op == MPF_OP_FAIL) {
        failures += e->heap == MPF_HEAP_HOST;
        *old = 0;
    }
}

/* ---- the file */

static void text(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ') printf("\\u%04x", (unsigned)*s);
        else putchar(*s);
    putchar('"');
}

static uint64_t header(const struct mpf_frame *f)
{
    const char *at = (const char *)f->body, *end = at + f->body_bytes, *key, *value;
    uint64_t start = 0;
    printf("{\"header\": {");
    for (bool first = true; mpf_pairs_next(&at, end, &key, &value) == 1; first = false) {
        if (!first) printf(", ");
        text(key);
        printf(": ");
        text(value);
        if (!strcmp(key, "start.mono")) start = strtoull(value, NULL, 10);
    }
    printf("}");
    return start;
}

static bool body(const struct mpf_frame *f, uint64_t start)
{
    const long n = mpf_columns_events(f->body, f->body_bytes);
    if (n < 0) return false;
    struct mpf_block *scratch = malloc((size_t)(n + 1) * sizeof *scratch);
    struct mpf_columns_reader r;
    struct mpf_event batch[256];
    long got = mpf_columns_open(&r, f->body, f->body_bytes, start, scratch, (uint32_t)n + 1);
    while (got >= 0 && (got = mpf_columns_next(&r, batch, 256)) > 0)
        for (long i = 0; i < got; i++)
            if (batch[i].heap == MPF_HEAP_HOST || batch[i].heap == MPF_HEAP_PART) take(&batch[i]);
    free(scratch);
    return got == 0;
}

static bool frames(const uint8_t *at, const uint8_t *end)
{
    static uint8_t payload[MPF_BODY_MAX];
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    uint64_t start = 0;
    while (at < end) {
        struct mpf_frame f;
        const long length = mpf_frame_length(at, (size_t)(end - at));
        if (length < 0 || mpf_frame_read(ctx, at, (size_t)length, payload, sizeof payload, &f) < 0)
            return false;
        if (f.kind == MPF_FRAME_HEADER) start = header(&f);
        if (f.kind == MPF_FRAME_EVENTS && !body(&f, start)) return false;
        at += length;
    }
    ZSTD_freeDCtx(ctx);
    return true;
}

static int by_address(const void *a, const void *b)
{
    const uint64_t x = ((const struct block *)a)->addr, y = ((const struct block *)b)->addr;
    return (x > y) - (x < y);
}

static void print(void)
{
    printf(", \"events\": %" PRIu64 ", \"allocations\": %" PRIu64 ", \"frees\": %" PRIu64
           ", \"failures\": %" PRIu64 ", \"unmatched\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
           ", \"live_bytes\": %" PRIu64 ", \"live\": [",
           events, allocations, frees, failures, unmatched, peak_bytes, live_bytes);
    qsort(table, SLOTS, sizeof *table, by_address);
    bool first = true;
    for (size_t i = 0; i < SLOTS; i++) {
        if (!table[i].addr || table[i].size == FREED) continue;
        printf("%s[%" PRIu64 ", %" PRIu64 "]", first ? "" : ", ", table[i].addr, table[i].size);
        first = false;
    }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    struct stat st;
    const int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) < 0) return 2;
    const uint8_t *log = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (log == MAP_FAILED || !frames(log, log + st.st_size)) return 1;
    print();
    return 0;
}
