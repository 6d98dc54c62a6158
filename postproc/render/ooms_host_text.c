/* The story of host memory, for a terminal. */
#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "fate.h"
#include "gpu_reports.h"
#include "growth_text.h"
#include "mpf/sample.h"
#include "ooms.h"
#include "readings.h"
#include "text.h"
#include "units.h"

#define RATE_NS UINT64_C(1000000000)        /* growth of a shorter time says nothing of a minute's */

static uint64_t value(const struct mpr_reading *r, int i) { return r->valid ? r->value[i] : MPF_UNKNOWN; }

static void known(FILE *out, const char *what, uint64_t bytes)
{
    struct mpr_number n;
    if (bytes != MPF_UNKNOWN) fprintf(out, "  %s %s", what, mpr_units_size(&n, bytes));
}

static void cgroup(FILE *out, const struct mpr_host_story *s)
{
    struct mpr_number usage, limit;
    const uint64_t kills = value(&s->cgroup, MPF_CGROUP_OOM_KILLS);
    if (value(&s->cgroup, MPF_CGROUP_USAGE) == MPF_UNKNOWN || value(&s->cgroup, MPF_CGROUP_LIMIT) == MPF_UNKNOWN) return;
    fprintf(out, "  cgroup  %s of its limit %s", mpr_units_size(&usage, s->cgroup.value[MPF_CGROUP_USAGE]),
            mpr_units_size(&limit, s->cgroup.value[MPF_CGROUP_LIMIT]));
    fputs(s->full ? ": the kernel kills in it" : "", out);
    if (kills && kills != MPF_UNKNOWN) fprintf(out, "; kills so far: %" PRIu64, kills);
    fputc('\n', out);
}

static void rss(FILE *out, const struct mpr_host_story *s)
{
    struct mpr_number n;
    if (!s->rss.valid) return;
    fprintf(out, "  RSS     %s", mpr_units_size(&n, mpr_reading_resident(&s->rss)));
    known(out, "anonymous", value(&s->rss, MPF_RSS_ANON));
    known(out, "file", value(&s->rss, MPF_RSS_FILE));
    known(out, "shared", value(&s->rss, MPF_RSS_SHMEM));
    known(out, "Private_Dirty", value(&s->rss, MPF_RSS_PRIVATE_DIRTY));
    mpr_text_rollup_time(out, &s->rss);
    known(out, "swap", value(&s->rss, MPF_RSS_SWAP));
    fprintf(out, "\n  live    %s of host memory\n", mpr_units_size(&n, s->growth.after));
}

/* As of the newest sample: one that has been lifted since is none. */
static uint64_t limit(const struct mpr_reading *rss, int i) { return rss->taken[i] == rss->time ? value(rss, i) : MPF_UNKNOWN; }

static void limits(FILE *out, const struct mpr_host_story *s)
{
    const uint64_t addresses = limit(&s->rss, MPF_RSS_LIMIT_AS), data = limit(&s->rss, MPF_RSS_LIMIT_DATA);
    if (addresses == MPF_UNKNOWN && data == MPF_UNKNOWN) return;
    fputs("  limits", out);
    known(out, "RLIMIT_AS", addresses);
    known(out, "RLIMIT_DATA", data);
    known(out, "address space", value(&s->rss, MPF_RSS_VM_SIZE));
    fputc('\n', out);
}

static uint64_t per_minute(uint64_t change, uint64_t ns)
{
    const unsigned __int128 minute = (unsigned __int128)change * 60000000000u / ns;
    return minute < UINT64_MAX ? (uint64_t)minute : UINT64_MAX;
}

static void rate(FILE *out, const char *what, uint64_t before, uint64_t after, uint64_t ns)
{
    struct mpr_number by, time, minute;
    const char *sign = after < before ? "-" : "+";
    const uint64_t change = after < before ? before - after : after - before;
    if (!ns) return;
    fprintf(out, "  growth  %s %s%s in the last %s", what, sign, mpr_units_size(&by, change), mpr_units_time(&time, ns));
    if (ns >= RATE_NS) fprintf(out, ": %s%s a minute", sign, mpr_units_size(&minute, per_minute(change, ns)));
    fputc('\n', out);
}

static void growth(FILE *out, const struct mpr_host_story *s, const struct mpr_style *style)
{
    struct mpr_number time;
    if (s->rss.valid && s->rss_then.valid)
        rate(out, "RSS", mpr_reading_resident(&s->rss_then), mpr_reading_resident(&s->rss), mpr_less(s->rss.time, s->rss_then.time));
    if (!s->growth.valid) return;
    rate(out, "live", s->growth.before, s->growth.after, mpr_less(s->end, s->mark));
    if (!s->growth.rows) return;
    fprintf(out, "\nlive host memory since %s\n", mpr_units_time(&time, s->mark));
    mpr_growth_rows(out, &s->growth, style);
}

static void refusals(FILE *out, const struct mpr_host_story *s, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_TEXT_TOP;
    if (!s->refusals) return;
    fprintf(out, "\n%-*s%12s%9s  newest\n", style->path + 2, "failed allocations", "largest", "count");
    for (size_t i = 0; i < s->refusals && i < top; i++) {
        struct mpr_number bytes, count, time;
        const struct mpr_host_refusal *f = &s->refusal[i];
        fputs("  ", out);
        mpr_text_path(out, f->path, f->depth, style->path);
        fprintf(out, "%12s%9s  %s %s, ", mpr_units_size(&bytes, f->largest), mpr_units_count(&count, f->count), mpr_units_time(&time, f->time), f->heap);
        fprintf(out, "%s, ", strerror((int)f->error));
        mpr_text_escaped(out, f->thread);
        fputc('\n', out);
    }
}

void mpr_ooms_host_text(FILE *out, const struct mpr_ooms_log *log, const struct mpr_style *style)
{
    const struct mpr_host_story *s = &log->host;
    struct mpr_number n;
    struct mpr_fate_text fate;
    if (!s->told) return;
    mpr_text_tone(out, style, MPR_WARN);
    if (s->killed) fprintf(out, "\n%s  host  %s", log->summary.fate == MPR_FATE_SIGNAL || s->full ? "KILLED" : "ENDED", mpr_units_time(&n, s->end));
    else if (s->failures) fprintf(out, "\nREFUSED  host  %s allocation%s failed", mpr_units_count(&n, s->failures), s->failures == 1 ? "" : "s");
    else fputs("\nAT THE LIMIT  host", out);
    mpr_text_tone(out, style, MPR_PLAIN);
    if (s->killed && !(s->full && log->summary.fate == MPR_FATE_UNKNOWN)) fprintf(out, "  %s", mpr_fate_words(&fate, &log->summary));
    fputc('\n', out);
    cgroup(out, s);
    rss(out, s);
    limits(out, s);
    growth(out, s, style);
    refusals(out, s, style);
    fputs("\nwho held it: memprof-report peaks ", out);
    mpr_text_escaped(out, log->summary.path);
    fputc('\n', out);
}
