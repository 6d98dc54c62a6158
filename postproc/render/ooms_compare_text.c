/* Several processes at the instant of the first failure, for a terminal. */
#include <inttypes.h>
#include <stdlib.h>

#include "amount.h"
#include "fate.h"
#include "gpu_reports.h"
#include "growth_text.h"
#include "mpf/sample.h"
#include "ooms.h"
#include "readings.h"
#include "text.h"
#include "units.h"

static void size_or_dash(FILE *out, uint64_t bytes)
{
    struct mpr_number n;
    fprintf(out, "%12s", bytes == MPF_UNKNOWN ? "-" : mpr_units_size(&n, bytes));
}

static void who(FILE *out, const struct mpr_summary *s, const struct mpr_style *style)
{
    const struct mpr_process_info *p = &s->process;
    char text[64];
    const char *const name[] = { p->argc ? p->argv[0] : "unknown program", text };
    if (*p->rank) snprintf(text, sizeof text, "rank %.20s, pid %" PRIu64, p->rank, p->pid);
    else snprintf(text, sizeof text, "pid %" PRIu64, p->pid);
    fputs("  ", out);
    mpr_text_path(out, name, 2, style->path);
}

struct columns { uint64_t rss, private, host, device, torch; };

static struct columns columns_of(const struct mpr_ooms_log *log)
{
    const struct mpr_then *t = &log->then;
    struct columns c = { mpr_reading_resident(&t->rss), t->rss.valid ? t->rss.value[MPF_RSS_PRIVATE_DIRTY] : MPF_UNKNOWN, t->host, MPF_UNKNOWN, MPF_UNKNOWN };
    if (t->devices) c.device = c.torch = 0;
    for (size_t k = 0; k < t->devices; k++) c.device += t->device[k].tracked, c.torch += t->device[k].torch;
    if (c.rss == MPF_UNKNOWN && log->summary.hwm) c.rss = log->summary.hwm;
    return c;
}

static uint64_t plus(uint64_t sum, uint64_t bytes) { return bytes == MPF_UNKNOWN ? sum : sum == MPF_UNKNOWN ? bytes : sum + bytes; }

static void columns(FILE *out, const struct columns *c)
{
    size_or_dash(out, c->rss);
    size_or_dash(out, c->private);
    size_or_dash(out, c->host);
    size_or_dash(out, c->device);
    size_or_dash(out, c->torch);
    fputc('\n', out);
}

static void processes(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_TEXT_TOP;
    struct columns sum = { MPF_UNKNOWN, MPF_UNKNOWN, MPF_UNKNOWN, MPF_UNKNOWN, MPF_UNKNOWN };
    size_t alive = 0;
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-*s%12s%12s%12s%12s%12s\n", style->path + 2, "processes then", "RSS", "private", "live host", "live GPU", "torch live");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct columns c = columns_of(&ooms->log[i]);
        if (!ooms->log[i].then.alive) continue;
        sum = (struct columns){ plus(sum.rss, c.rss), plus(sum.private, c.private), plus(sum.host, c.host), plus(sum.device, c.device),
                                plus(sum.torch, c.torch) };
        if (alive++ >= top) continue;
        who(out, &ooms->log[i].summary, style);
        columns(out, &c);
    }
    if (alive > top) fprintf(out, "  (%zu more)\n", alive - top);
    fprintf(out, "  %-*s", style->path, "sum (RSS counts shared pages repeatedly)");
    columns(out, &sum);
}

static void devices(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    if (!ooms->sums) return;
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-*s%12s%12s%12s%12s%12s\n", style->path + 2, "devices then, over all processes", "used", "of", "live", "torch live", "processes");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (size_t i = 0; i < ooms->sums; i++) {
        const struct mpr_device_sum *d = &ooms->sum[i];
        char uuid[13];
        const char *const name[] = { d->host, d->name, uuid };
        snprintf(uuid, sizeof uuid, "%s", d->uuid);
        fputs("  ", out);
        mpr_text_path(out, name, 3, style->path);
        size_or_dash(out, d->used);
        size_or_dash(out, d->total);
        size_or_dash(out, d->tracked);
        size_or_dash(out, d->torch);
        fprintf(out, "%12zu\n", d->processes);
    }
}

static void against(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    if (!ooms->against.valid) return;
    fprintf(out, "\nthe first to fail against the median of the other %zu, by range\n", ooms->others);
    fprintf(out, "  %-*s", style->path, ooms->device_failure ? "live device memory" : "live host memory");
    mpr_growth_change(out, mpr_amount(ooms->against.before), mpr_amount(ooms->against.after));
    mpr_growth_rows(out, &ooms->against, style);
}

static uint64_t death_of(const struct mpr_ooms_log *log) { return log->summary.process.start_ns + log->summary.duration_ns; }

static int by_death(const void *left, const void *right)
{
    const struct mpr_ooms_log *const *a = left, *const *b = right;
    const uint64_t x = death_of(*a), y = death_of(*b);
    return x < y ? -1 : x > y;
}

/* Who died how, in order, as the run's record has it. */
static void deaths(FILE *out, const struct mpr_ooms *ooms)
{
    const struct mpr_ooms_log **dead = malloc((ooms->logs + 1) * sizeof *dead);
    size_t count = 0;
    for (size_t i = 0; dead && i < ooms->logs; i++)
        if (ooms->log[i].summary.fate == MPR_FATE_SIGNAL || ooms->log[i].summary.fate == MPR_FATE_EXIT) dead[count++] = &ooms->log[i];
    if (count) qsort(dead, count, sizeof *dead, by_death);
    for (size_t i = 0; i < count && i < MPR_TEXT_TOP; i++) {
        struct mpr_fate_text fate;
        struct mpr_number time;
        const struct mpr_summary *s = &dead[i]->summary;
        fprintf(out, "%s pid %" PRIu64 " %s", i ? ";" : "ends:", s->process.pid, mpr_fate_words(&fate, s));
        if (i) fprintf(out, " %.3f s later", (double)mpr_less(death_of(dead[i]), death_of(dead[0])) / 1e9);
        else fprintf(out, " at %s", mpr_units_time(&time, s->duration_ns));
    }
    if (count > MPR_TEXT_TOP) fprintf(out, "; %zu more", count - MPR_TEXT_TOP);
    if (count) fputc('\n', out);
    free(dead);
}

static const char *first_words(struct mpr_fate_text *fate, const struct mpr_ooms_log *log)
{
    return log->summary.fate == MPR_FATE_UNKNOWN && log->host.full ? "killed" : mpr_fate_words(fate, &log->summary);
}

void mpr_ooms_compare_text(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    struct mpr_number time;
    struct mpr_fate_text fate;
    if (!ooms->compared) return;
    mpr_text_tone(out, style, MPR_STRONG);
    fprintf(out, "%zu of %zu processes failed, the first", ooms->failed, ooms->logs);
    mpr_text_tone(out, style, MPR_PLAIN);
    const struct mpr_process_info *p = &ooms->log[0].summary.process;
    if (*p->rank) fputs(" rank ", out), mpr_text_escaped(out, p->rank);
    fprintf(out, " pid %" PRIu64 " at %s: %s\n", p->pid, mpr_units_time(&time, mpr_less(ooms->first_failure, p->start_ns)),
            ooms->device_failure ? "device memory" : first_words(&fate, &ooms->log[0]));
    deaths(out, ooms);
    processes(out, ooms, style);
    devices(out, ooms, style);
    against(out, ooms, style);
    fputc('\n', out);
}
