#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fate.h"
#include "units.h"
#include "utf8.h"

void mpr_text_escaped(FILE *out, const char *text) { mpr_utf8_escaped(out, text); }

void mpr_text_tone(FILE *out, const struct mpr_style *style, enum mpr_tone tone)
{
    static const char *const code[] = { "\033[0m", "\033[1m", "\033[33;1m", "\033[2m" };
    if (style->color) fputs(code[tone], out);
}

static char *path_text(const char *const *path, size_t depth)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    if (!depth) fputs("outside any range", out);
    for (size_t i = 0; i < depth; i++) {
        if (i) fputs(" > ", out);
        mpr_text_escaped(out, path[i]);
    }
    fclose(out);
    return text;
}

/* "[h.0.mlp] ": the innermost layer of a model in the path, where the last name does not say it itself; NULL: none. */
static char *layer_text(const char *const *path, size_t depth)
{
    const char *from = NULL, *to = NULL;
    for (size_t i = depth; i-- > 0 && !from; ) {
        to = strstr(path[i], "] (");
        from = to ? strchr(path[i], '[') : NULL;
        if (from && i == depth - 1) return NULL;
    }
    return from && from < to ? strndup(from, (size_t)(to + 2 - from)) : NULL;
}

/* What is seen of a text that is too long for `width` columns, behind "…". */
static const char *end_of(const char *text, size_t length, size_t width)
{
    for (size_t skip = length - width + 1; skip; skip--) {
        uint32_t code;
        mpr_utf8_next(&text, &code);
    }
    return text;
}

static void print_short(FILE *out, const char *text, size_t length, size_t width, const char *layer)
{
    const size_t front = layer ? mpr_utf8_length(layer) : 0;
    if (front && front <= width / 2 && !strstr(end_of(text, length, width), layer)) {
        mpr_text_escaped(out, layer);
        width -= front;
    }
    fprintf(out, "…%s", end_of(text, length, width));
}

void mpr_text_path(FILE *out, const char *const *path, size_t depth, int width)
{
    char *text = path_text(path, depth);
    if (!text) return;
    const size_t length = mpr_utf8_length(text);
    if (length > (size_t)width) {
        char *layer = layer_text(path, depth);
        print_short(out, text, length, (size_t)width, layer);
        free(layer);
    } else fprintf(out, "%s%*s", text, width - (int)length, "");
    free(text);
}

void mpr_text_row_path(FILE *out, const char *by, const char *const *path, size_t depth, int width)
{
    static const char *const no_stack = "(no call stack)", *const no_python = "(no Python call stack)";
    if (depth) mpr_text_path(out, path, depth, width);
    else if (strcmp(by, "stack") == 0) mpr_text_path(out, &no_stack, 1, width);
    else if (strcmp(by, "python") == 0) mpr_text_path(out, &no_python, 1, width);
    else mpr_text_path(out, path, depth, width);
}

void mpr_text_rollup_time(FILE *out, const struct mpr_reading *rss)
{
    struct mpr_number time;
    const uint64_t taken = rss->taken[MPF_RSS_PSS];
    if (rss->value[MPF_RSS_PSS] != MPF_UNKNOWN && taken != rss->time) fprintf(out, " (at %s)", mpr_units_time(&time, taken));
}

/* ---- summary */

void mpr_text_title(FILE *out, const struct mpr_summary *s, const struct mpr_style *style)
{
    const struct mpr_process_info *p = &s->process;
    const size_t shown = p->argc < 8 ? p->argc : 8;
    mpr_text_tone(out, style, MPR_STRONG);
    for (size_t i = 0; i < shown; i++) {
        if (i) fputc(' ', out);
        mpr_text_escaped(out, p->argv[i]);
    }
    if (shown < p->argc) fputs(" ...", out);
    if (!p->argc) fputs("unknown program", out);
    mpr_text_tone(out, style, MPR_PLAIN);
    if (*p->rank) fputs("  rank ", out), mpr_text_escaped(out, p->rank);
    if (*p->host) fputs("  ", out), mpr_text_escaped(out, p->host);
    if (p->pid) fprintf(out, "  pid %" PRIu64, p->pid);
    fputc('\n', out);
}

static void warn(FILE *out, const struct mpr_style *style, const char *format, ...) __attribute__((format(printf, 3,
    4)));
static void warn(FILE *out, const struct mpr_style *style, const char *format, ...)
{
    va_list list;
    mpr_text_tone(out, style, MPR_WARN);
    fputs("warning: ", out);
    va_start(list, format);
    vfprintf(out, format, list);
    va_end(list);
    mpr_text_tone(out, style, MPR_PLAIN);
    fputc('\n', out);
}

/* How the log ends, in a few words. */
static void ending(FILE *out, const struct mpr_summary *s)
{
    struct mpr_fate_text fate;
    if (s->life == MPR_RUNS) fprintf(out, "still running (%s), read up to now", s->life_reason);
    else if (s->journal_only) fputs("a journal without its log", out);
    else if (s->complete && s->journal) fputs("complete, recovered from its journal", out);
    else if (s->complete) fputs("complete", out);
    else if (s->incomplete) fputs("INCOMPLETE", out);
    else if (s->life == MPR_NOT_TOLD) fputs("joined with its journal", out);
    else fputs("recovered from its journal, nothing is missing", out);
    if (s->fate != MPR_FATE_OWN) fprintf(out, "; the process ended: %s", mpr_fate_words(&fate, s));
    if (*s->end_reason && strcmp(s->end_reason, "recovered") != 0)
        fputs(", ended by ", out), mpr_text_escaped(out, s->end_reason);
    if (s->life != MPR_NOT_TOLD || s->fate != MPR_FATE_OWN) return;
    fputs("; whether its process still runs cannot be told from here (", out);
    mpr_text_escaped(out, s->life_reason);
    fputc(')', out);
}

static void state(FILE *out, const struct mpr_summary *s)
{
    struct mpr_number events, lost, time;
    fputs("log: ", out);
    ending(out, s);
    fprintf(out, "; %s events, %s lost; ", mpr_units_count(&events, s->events), mpr_units_count(&lost, s->lost_events));
    fprintf(out, "%s long\n", mpr_units_time(&time, s->duration_ns));
}

static void warn_damage(FILE *out, const struct mpr_summary *s, const struct mpr_style *style)
{
    struct mpr_number time;
    mpr_units_time(&time, s->good_ns);
    if (s->damaged) {
        warn(out, style,
             "damaged in %" PRIu64 " place%s, first at offset %" PRIu64
             "; whole up to %s, later figures may be wrong", s->damaged,
             s->damaged == 1 ? "" : "s", s->bad_offset, time.text);
    } else if (s->missing_frames) {
        warn(out, style, "%" PRIu64 " frame%s missing before offset %" PRIu64 "; whole up to %s", s->missing_frames,
             s->missing_frames == 1 ? " is" : "s are", s->bad_offset, time.text);
    }
    if (s->cut && s->journal)
        warn(out, style, "its last frame, at offset %" PRIu64 ", is cut; the journal holds what was in it",
             s->cut_offset);
    else if (s->cut)
        warn(out, style, "cut at offset %" PRIu64 "; what came after %s is not there", s->cut_offset, time.text);
}

static void warn_missing(FILE *out, const struct mpr_summary *s, const struct mpr_style *style)
{
    if (!s->has_header && !s->journal_only)
        warn(out, style, "the header is damaged: process and start time are not known");
    if (s->journal_only) warn(out, style, "only what had not reached the log is here; give the log, if it exists");
    else if (!*s->end_reason && !s->journal && !s->cut) {
        warn(out, style, "no end and no journal: the last moments before the process's death are missing");
    }
    for (size_t i = 0; i < s->losses; i++)
        warn(out, style, "%" PRIu64 " events lost: %s", s->loss[i].events, s->loss[i].reason);
    for (size_t i = 0; i < s->unwrittens; i++) {
        const struct mpr_unwritten_row *u = &s->unwritten[i];
        struct mpr_number from, to;
        warn(out, style, "from %s to %s nothing could be written (%s): %" PRIu64 " events", mpr_units_time(&from, u->from_ns),
             mpr_units_time(&to, u->to_ns), strerror((int)u->error), u->events);
    }
    if (s->torn)
        warn(out, style, "%" PRIu64 " event%s being written when the process died", s->torn,
             s->torn == 1 ? " was" : "s were");
}

static void oddities(FILE *out, const struct mpr_summary *s)
{
    if (*s->unseen_malloc) {
        fputs("host/heap is not recorded: the malloc of ", out);
        mpr_text_escaped(out, s->unseen_malloc);
        fputs(" serves the program\n", out);
    }
    if (s->inherited_frees)
        fprintf(out, "%" PRIu64 " frees of blocks inherited from the parent process\n", s->inherited_frees);
    if (!s->unmatched_frees && !s->missed_frees) return;
    fprintf(out, "%" PRIu64 " frees of blocks never seen, %" PRIu64 " blocks whose free was never seen\n",
            s->unmatched_frees, s->missed_frees);
}

void mpr_text_choice(FILE *out, const struct mpr_choice *choice)
{
    if (*choice->source) fprintf(out, "ranges: %s\n", choice->source);
}

void mpr_text_notes(FILE *out, const char *const *note, size_t notes)
{
    if (notes) fputc('\n', out);
    for (size_t i = 0; i < notes; i++) {
        mpr_text_escaped(out, note[i]);
        fputc('\n', out);
    }
}

void mpr_text_summary(FILE *out, const struct mpr_summary *s, const struct mpr_style *style)
{
    mpr_text_title(out, s, style);
    state(out, s);
    warn_damage(out, s, style);
    warn_missing(out, s, style);
    oddities(out, s);
}
