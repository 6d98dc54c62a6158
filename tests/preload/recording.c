#include "recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/config.h"
#include "core/record.h"
#include "mpf/columns.h"
#include "mpf/frame.h"
#include "mpf/header.h"
#include "real/real.h"

/* ---- contents of a log */

static void take_event(struct log_counts *b, const struct mpf_event *e)
{
    b->op[e->op]++;
    if (e->op == MPF_OP_LOST) b->lost[e->size % MP_LOSSES] += e->addr;
    if (e->op == MPF_OP_UNWRITTEN) memcpy(&b->unwritten, e->data, sizeof b->unwritten);
    if (e->op == MPF_OP_SAMPLE_RSS) b->after_sample = 0;
    if (e->op != MPF_OP_ALLOC) return;
    b->after_sample++;
    b->bytes += e->size;
    const uint64_t thread = e->addr >> 40;
    if (thread < THREADS && e->size != ++b->step[thread]) b->in_thread_order = false;
}

static void take_events(struct log_counts *b, const struct mpf_frame *f)
{
    const long n = mpf_columns_events(f->body, f->body_bytes);
    assert_true(n >= 0);
    struct mpf_block *scratch = malloc(((size_t)(uint32_t)n + 1) * sizeof *scratch);
    struct mpf_event event;
    struct mpf_columns_reader *r = malloc(sizeof *r);
    assert_int_equal(mpf_columns_open(r, f->body, f->body_bytes, 0, scratch, (uint32_t)n + 1),
                     MPF_OK);
    long got;
    uint64_t step = 0;
    while ((got = mpf_columns_next(r, &event, 1)) == 1) {
        if (r->step < step || (step == 0 && r->step < b->last_time)) b->in_order = false;
        step = r->step;
        take_event(b, &event);
    }
    assert_int_equal(got, 0);
    b->last_time = step;
    free(r);
    free(scratch);
}

static void take_end(struct log_counts *b, const struct mpf_frame *f)
{
    const char *at = (const char *)f->body, *const end = at + f->body_bytes, *key, *value;
    const struct {
        const char *key;
        uint64_t *value;
    } number[] = {
        { "lost", &b->lost_total },
        { "unwritten.errno", &b->unwritten.error },
        { "unwritten.from", &b->unwritten.from },
        { "unwritten.to", &b->unwritten.to },
        { "unwritten.events", &b->unwritten.events },
        { "unwritten.bytes", &b->unwritten.bytes },
    };
    while (mpf_pairs_next(&at, end, &key, &value) == 1)
        for (size_t i = 0; i < sizeof number / sizeof *number; i++)
            if (!strcmp(key, number[i].key)) *number[i].value = strtoull(value, NULL, 10);
}

static struct log_counts read_log(const char *path)
{
    struct log_counts b = { .in_order = true, .in_thread_order = true };
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static uint8_t in[64 << 20], payload[64 << 20];
    const size_t bytes = fread(in, 1, sizeof in, file);
    fclose(file);
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    uint64_t seq = 0;
    for (size_t at = 0; at < bytes;) {
        const long n = mpf_frame_length(in + at, bytes - at);
        struct mpf_frame f;
        assert_true(n > 0);
        assert_int_equal(mpf_frame_read(ctx, in + at, (size_t)n, payload, sizeof payload, &f),
                         MPF_OK);
        assert_int_equal(f.seq, seq++);
        b.ended = f.kind == MPF_FRAME_END;
        if (f.kind == MPF_FRAME_EVENTS) take_events(&b, &f);
        if (b.ended) take_end(&b, &f);
        at += (size_t)n;
    }
    ZSTD_freeDCtx(ctx);
    return b;
}

/* ---- a recorded process */

static char path[] = "/tmp/memprof-unit.XXXXXX";

static void begin(void)
{
    char template[128];
    snprintf(template, sizeof template, "%s/log.zst", path);
    setenv("MEMPROF_OUT", template, 1);
    setenv("MEMPROF_QUIET", "1", 1);
    mp_config_read();
    mp_clock_init();
    mp_real_resolve();
    mp_process_adopt(true);
    if (!mp_process_init()) _exit(99);
}

static void run_recorded(void (*f)(void))
{
    strcpy(path, "/tmp/memprof-unit.XXXXXX");
    assert_non_null(mkdtemp(path));
    const pid_t pid = fork();
    if (pid == 0) {
        begin();
        f();
        mp_process_finish("exit");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

struct log_counts recorded_with_losses(void (*f)(void))
{
    char file[128];
    run_recorded(f);
    snprintf(file, sizeof file, "%s/log.zst", path);
    const struct log_counts b = read_log(file);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0); /* fails if the journal still exists */
    assert_true(b.ended);
    assert_true(b.in_order);
    assert_true(b.in_thread_order);
    return b;
}

struct log_counts recorded(void (*f)(void))
{
    const struct log_counts b = recorded_with_losses(f);
    assert_int_equal(b.lost_total, 0);
    return b;
}

void recorded_without_end(void (*f)(void))
{
    static const char *const names[] = { "log.zst", "log.zst.journal" };
    run_recorded(f);
    for (size_t i = 0; i < 2; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        assert_int_equal(unlink(file), 0);
    }
    assert_int_equal(rmdir(path), 0);
}
