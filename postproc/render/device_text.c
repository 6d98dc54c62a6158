#include "device_text.h"

#include <inttypes.h>

#include "mpf/sample.h"
#include "text.h"
#include "units.h"

void mpr_device_signed(char *out, size_t cap, int64_t bytes)
{
    struct mpr_number n;
    snprintf(out, cap, "%s%s", bytes < 0 ? "-" : "", mpr_units_size(&n, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes));
}

static void heading(FILE *out, const struct mpr_device *d, const struct mpr_device_state *s, const char *at,
                    const struct mpr_style *style)
{
    struct mpr_number used, total, time;
    mpr_text_tone(out, style, MPR_STRONG);
    fprintf(out, "\ngpu%u", d->index);
    mpr_text_tone(out, style, MPR_PLAIN);
    fputc(' ', out);
    mpr_text_escaped(out, d->name);
    fprintf(out, " %.12s  %s ", d->uuid, at);
    mpr_text_tone(out, style, MPR_STRONG);
    fputs(mpr_units_size(&used, s->used != MPF_UNKNOWN ? s->used : s->tracked), out);
    mpr_text_tone(out, style, MPR_PLAIN);
    if (s->total != MPF_UNKNOWN) fprintf(out, " of %s", mpr_units_size(&total, s->total));
    fprintf(out, " %s at %s\n", s->used != MPF_UNKNOWN ? "used" : "tracked (nobody measured what is used)", mpr_units_time(&time, s->time));
}

static void account(FILE *out, const struct mpr_device_state *s)
{
    const uint64_t whole = s->used != MPF_UNKNOWN ? s->used : s->tracked;
    for (size_t i = 0; i < s->parts; i++) {
        char bytes[48];
        const struct mpr_device_part *p = &s->part[i];
        if (!p->bytes) continue;
        mpr_device_signed(bytes, sizeof bytes, p->bytes);
        fprintf(out, "  %-28s%12s%7.1f %%", p->name, bytes, whole ? 100.0 * (double)p->bytes / (double)whole : 0.0);
        fprintf(out, *p->note ? "  %s\n" : "%s\n", p->note);
    }
}

static void row_line(FILE *out, const struct mpr_device_state *s, const struct mpr_row *r, const char *by, const struct mpr_style *style)
{
    struct mpr_number bytes, share;
    fputs("  ", out);
    mpr_text_row_path(out, by, r->path, r->depth, style->path);
    fprintf(out, "%12s%9s%10" PRIu64 "%s\n", mpr_units_size(&bytes, r->bytes), mpr_units_share(&share, r->bytes, s->torch_live),
            r->blocks, r->inherited ? "  inherited" : "");
}

static void torch_rows(FILE *out, const struct mpr_device_state *s, const char *by, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_TEXT_TOP;
    char title[64];
    size_t shown = 0;
    uint64_t rest = 0;
    struct mpr_number n;
    if (!s->rows) return;
    snprintf(title, sizeof title, "torch live by %s", by);
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-*s%12s%9s%10s\n", style->path + 2, title, "bytes", "share", "blocks");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (; shown < s->rows && shown < top; shown++) row_line(out, s, &s->row[shown], by, style);
    for (size_t i = shown; i < s->rows; i++) rest += s->row[i].bytes;
    if (shown < s->rows) fprintf(out, "  (%zu more, %s)\n", s->rows - shown, mpr_units_size(&n, rest));
}

static void known_number(FILE *out, uint64_t n)
{
    if (n == UINT64_MAX) fprintf(out, "%8s", "-");
    else fprintf(out, "%8" PRIu64, n);
}

static void comm_rows(FILE *out, const struct mpr_device_state *s, const struct mpr_style *style)
{
    if (!s->comms) return;
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-*s%12s%8s%8s  first use\n", style->path + 2, "NCCL by communicator", "bytes", "ranks", "rank");
    mpr_text_tone(out, style, MPR_PLAIN);
    for (size_t i = 0; i < s->comms; i++) {
        struct mpr_number n;
        fprintf(out, "  %-*s%12s", style->path, s->comm[i].name, mpr_units_size(&n, s->comm[i].bytes));
        known_number(out, s->comm[i].ranks);
        known_number(out, s->comm[i].rank);
        fputs("  ", out);
        mpr_text_escaped(out, s->comm[i].first_use);
        fputc('\n', out);
    }
}

void mpr_device_text(FILE *out, const struct mpr_device *device, const struct mpr_device_state *state, const char *at,
                     const char *by, const struct mpr_style *style)
{
    heading(out, device, state, at, style);
    if (*device->off) fprintf(out, "  driver allocations are not recorded: %s\n", device->off);
    account(out, state);
    torch_rows(out, state, by, style);
    comm_rows(out, state, style);
}
