#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "reports.h"
#include "text_document.h"
#include "units.h"
#include "utf8.h"

void mpr_text_escaped(FILE *out, const char *text) { mpr_utf8_escaped(out, text); }

char *mpr_text_harmless(const char *text)
{
    char *copy = NULL;
    size_t bytes;
    FILE *out = open_memstream(&copy, &bytes);
    if (!out) return NULL;
    mpr_text_escaped(out, text);
    fclose(out);
    return copy;
}

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

static void write_short(FILE *out, const char *text, size_t length, size_t width, const char *layer)
{
    const size_t front = layer ? mpr_utf8_length(layer) : 0;
    if (front && front <= width / 2 && !strstr(end_of(text, length, width), layer)) {
        mpr_text_escaped(out, layer);
        width -= front;
    }
    fprintf(out, "…%s", end_of(text, length, width));
}

/* Takes `text`, which is too long. */
static char *cut(char *text, size_t length, size_t width, char *layer)
{
    char *shorter = NULL;
    size_t bytes;
    FILE *out = open_memstream(&shorter, &bytes);
    if (out) write_short(out, text, length, width, layer);
    if (out) fclose(out);
    free(layer);
    free(text);
    return shorter;
}

char *mpr_text_cut_path(const char *const *path, size_t depth, int width)
{
    char *text = path_text(path, depth);
    const size_t length = text ? mpr_utf8_length(text) : 0;
    return length > (size_t)width ? cut(text, length, (size_t)width, layer_text(path, depth)) : text;
}

void mpr_text_path(FILE *out, const char *const *path, size_t depth, int width)
{
    char *text = mpr_text_cut_path(path, depth, width);
    if (text) fprintf(out, "%s%*s", text, width - (int)mpr_utf8_length(text), "");
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

/* ---- parts of documents, for reports that have a renderer of their own */

static void parts(FILE *out, const struct mpr_style *style, const void *what, void (*describe)(struct mpr_document *doc, const void *what))
{
    struct mpr_document doc = { 0 };
    describe(&doc, what);
    mpr_text_document(out, &doc, style);
    mpr_doc_free(&doc);
}

static void title(struct mpr_document *doc, const void *summary) { mpr_report_title(doc, summary); }
static void log_lines(struct mpr_document *doc, const void *summary) { mpr_report_log(doc, summary); }

void mpr_text_title(FILE *out, const struct mpr_summary *s, const struct mpr_style *style) { parts(out, style, s, title); }
void mpr_text_summary(FILE *out, const struct mpr_summary *s, const struct mpr_style *style) { parts(out, style, s, log_lines); }

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
