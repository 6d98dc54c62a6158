/* The story of each lack of memory, for a terminal. */
#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "device_text.h"
#include "growth_text.h"
#include "gpu_reports.h"
#include "mpf/sample.h"
#include "ooms.h"
#include "text.h"
#include "units.h"

enum { FRAMES = 4, ROWS = 10 };     /* of a Python stack, from the innermost; of a list */

static void request(FILE *out, const struct mpr_oom_story *s)
{
    struct mpr_number n;
    fprintf(out, "  asked   %s (%" PRIu64 " B)", mpr_units_size(&n, s->bytes), s->bytes);
    if (s->needed > s->bytes) fprintf(out, ", a segment of %s", mpr_units_size(&n, s->needed));
    if (*s->library) {
        fputs(" by ", out);
        mpr_text_escaped(out, s->library);
    }
    fputs("\n  where   ", out);
    for (size_t i = 0; i < s->depth; i++) {
        if (i) fputs(" > ", out);
        mpr_text_escaped(out, s->path[i]);
    }
    fprintf(out, "%s%s, thread ", s->depth ? "" : "outside any range", s->inherited ? " (inherited)" : "");
    mpr_text_escaped(out, s->thread);
    fputc('\n', out);
    for (size_t i = s->python_depth; i-- > 0 && s->python_depth - i <= FRAMES; ) {
        fputs("          ", out);
        mpr_text_escaped(out, s->python[i]);
        fputc('\n', out);
    }
}

static void supply(FILE *out, const struct mpr_oom_story *s)
{
    struct mpr_number n;
    if (s->free != MPF_UNKNOWN) {
        fprintf(out, "  had     free %s", mpr_units_size(&n, s->free));
        fprintf(out, " of %s", mpr_units_size(&n, s->total));
    } else fputs("  had     free not known", out);
    fputs(s->attempts ? "" : "; the driver was not asked: PyTorch's own limit (set_per_process_memory_fraction)", out);
    fputs(s->capturing ? "; a graph's capture was under way\n" : "; no capture under way\n", out);
    if (s->attempts > 1)
        fprintf(out, "  tried   %s (%s) and asked again\n", s->torch ? "PyTorch gave back its cache" : "gave back memory", mpr_units_size(&n, s->flushed));
    if (s->hard && s->free != MPF_UNKNOWN && s->needed > s->free)
        fprintf(out, "  SHORT BY %s\n", mpr_units_size(&n, s->needed - s->free));
}

static void fits(FILE *out, const struct mpr_oom_story *s)
{
    if (!s->fits) return;
    fputs("\nwould it have fit?\n", out);
    for (size_t i = 0; i < s->fits; i++) {
        struct mpr_number n, short_by;
        const struct mpr_fit *f = &s->fit[i];
        fprintf(out, "  %-24s%12s  ", f->what, mpr_units_size(&n, f->bytes));
        if (f->fits) fprintf(out, "yes  %s\n", f->how);
        else fprintf(out, "no   %s short\n", mpr_units_size(&short_by, f->missing));
    }
}

static void growth(FILE *out, const struct mpr_oom_story *s, const struct mpr_style *style)
{
    struct mpr_number time;
    if (!s->growth.valid) return;
    fprintf(out, "\nsince the last good peak (");
    if (*s->good) mpr_text_escaped(out, s->good), fputs(", ", out);
    fprintf(out, "%s)\n", mpr_units_time(&time, s->growth.time));
    fprintf(out, "  %-*s", style->path, s->state.used != MPF_UNKNOWN ? "used" : "tracked");
    mpr_growth_change(out, mpr_amount(s->growth.before), mpr_amount(s->growth.after));
    mpr_growth_rows(out, &s->growth, style);
}

static void largest(FILE *out, const struct mpr_oom_story *s, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : ROWS;
    if (!s->blocks) return;
    fprintf(out, "\n%-*s%12s%14s\n", style->path + 2, "largest live blocks", "bytes", "age");
    for (size_t i = 0; i < s->blocks && i < top; i++) {
        struct mpr_number bytes, age;
        fputs("  ", out);
        mpr_text_path(out, s->largest[i].path, s->largest[i].depth, style->path);
        fprintf(out, "%12s%14s\n", mpr_units_size(&bytes, s->largest[i].bytes), mpr_units_time(&age, s->largest[i].age));
    }
}

static void story(FILE *out, const struct mpr_ooms_log *log, const struct mpr_oom_story *s, size_t number, const char *order,
                  const struct mpr_style *style)
{
    struct mpr_number time;
    mpr_text_tone(out, style, MPR_WARN);
    fprintf(out, "\nHARD OOM %zu/%zu", number, log->hard);
    mpr_text_tone(out, style, MPR_PLAIN);
    fprintf(out, "  %s  %s%s\n", s->heap, mpr_units_instant(&time, s->time, 1), order);
    request(out, s);
    supply(out, s);
    if (s->state.valid) mpr_device_text(out, &log->device[s->index], &s->state, "then", mpr_group_word(log->choice.by), style);
    fits(out, s);
    growth(out, s, style);
    largest(out, s, style);
}

static void soft_ones(FILE *out, const struct mpr_ooms_log *log)
{
    uint64_t flushed = 0;
    struct mpr_number n;
    if (!log->soft) return;
    for (size_t i = 0; i < log->stories; i++)
        if (!log->story[i].hard) flushed += log->story[i].flushed;
    fprintf(out, "\nhistory  soft OOMs (got over): %zu, given back %s, at", log->soft, mpr_units_size(&n, flushed));
    for (size_t i = 0; i < log->stories; i++)
        if (!log->story[i].hard) fprintf(out, " %s", mpr_units_instant(&n, log->story[i].time, 1));
    fputc('\n', out);
}

static void one_log(FILE *out, const struct mpr_ooms *ooms, size_t index, const struct mpr_style *style)
{
    const struct mpr_ooms_log *log = &ooms->log[index];
    char order[64] = "";
    size_t number = 0;
    if (ooms->logs > 1) snprintf(order, sizeof order, "  %zu. of %zu processes to fail", index + 1, ooms->failed);
    mpr_text_summary(out, &log->summary, style);
    if (log->stories) mpr_text_choice(out, &log->choice);
    for (size_t i = 0; i < log->stories; i++)
        if (log->story[i].hard) story(out, log, &log->story[i], ++number, order, style);
    if (!log->stories && !log->host.told) fputs("\nno lack of memory was recorded\n", out);
    soft_ones(out, log);
    mpr_ooms_host_text(out, log, style);
}

/* Nothing is to be told of it beside others. */
static bool healthy(const struct mpr_ooms_log *log) { return !log->stories && !log->host.told && !log->summary.incomplete; }

static void healthy_ones(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    size_t count = 0;
    for (size_t i = 0; i < ooms->logs; i++) count += healthy(&ooms->log[i]);
    fprintf(out, "no lack of memory was recorded in %zu %s\n", count, count == 1 ? "process" : "processes");
    for (size_t i = 0; i < ooms->logs; i++)
        if (healthy(&ooms->log[i])) mpr_text_title(out, &ooms->log[i].summary, style);
}

void mpr_ooms_text(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    mpr_ooms_compare_text(out, ooms, style);
    const bool all = ooms->logs == 1;
    size_t shown = 0;
    for (size_t i = 0; i < ooms->logs; i++) {
        if (!all && healthy(&ooms->log[i])) continue;
        if (shown++) fputc('\n', out);
        one_log(out, ooms, i, style);
    }
    if (shown < ooms->logs) {
        if (shown) fputc('\n', out);
        healthy_ones(out, ooms, style);
    }
}
