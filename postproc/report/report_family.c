/* The processes of a run in two lines: who began it, and its largest and its dead. */
#include <inttypes.h>
#include <string.h>

#include "basename.h"
#include "family.h"
#include "reports.h"

enum { KINDS = 2, WORD = 24 };

/* ---- words */

/* "python3 train.py", "python3 -m trainer": the program and what it runs. */
static const char *title_of(struct mpr_document *doc, const struct mpr_process_info *who)
{
    if (!who->argc) return "unknown program";
    const char *text = mpr_arena_format(&doc->arena, "%.*s", WORD, mpr_basename(who->argv[0]));
    if (who->argc > 1)
        text = mpr_arena_format(&doc->arena, "%s %.*s", text, WORD, mpr_basename(who->argv[1]));
    if (who->argc > 2 && strcmp(who->argv[1], "-m") == 0)
        text = mpr_arena_format(&doc->arena, "%s %.*s", text, WORD, who->argv[2]);
    return text;
}

/* Of one that ended as one should: nothing. */
static const char *death(struct mpr_document *doc, const struct mpr_summary *s)
{
    static const char *const fine[] = { "exit", "_exit", "exit 0", "runs" };
    const char *ending = mpr_report_ending(doc, s);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (strcmp(ending, fine[i]) == 0) return "";
    return strcmp(ending, "not told") == 0 ? "end not told" : ending;
}

/* "3 x python3 train.py up to 404.00 MiB", "python3 train.py (pid 7) 401.37 MiB OOM-killed";
 * root: what runs the same is its fork.  NULL: there is none. */
static const char *words(struct mpr_document *doc, const struct mpr_family_line *l,
                         const struct mpr_family_line *root)
{
    const struct mpr_process_info *who = &l->largest->summary.process;
    const bool forked = root && strcmp(l->largest->title, root->largest->title) == 0;
    const char *title = forked ? "forked" : title_of(doc, who),
               *size = mpr_doc_size(doc, l->largest->peak_bytes),
               *died = death(doc, &l->last->summary), *space = *died ? " " : "";
    if (l->processes == 1)
        return mpr_arena_format(&doc->arena, "%s (pid %" PRIu64 ") %s%s%s", title, who->pid, size,
                                space, died);
    return mpr_arena_format(&doc->arena, "%s x %s up to %s%s%s", mpr_doc_count(doc, l->processes),
                            title, size, space, died);
}

/* ---- which of them */

static bool died(struct mpr_document *doc, const struct mpr_family_line *l)
{
    return *death(doc, &l->last->summary) != 0;
}

/* The first that died, and the first that did not: they come largest first. */
static size_t choose(struct mpr_document *doc, const struct mpr_family_line *line, size_t lines,
                     const struct mpr_family_line *chosen[KINDS])
{
    size_t count = 0;
    for (int dead = 1; dead >= 0; dead--)
        for (size_t i = 0; i < lines; i++)
            if (died(doc, &line[i]) == dead) {
                chosen[count++] = &line[i];
                break;
            }
    return count;
}

/* The processes of these lines. */
static uint64_t sum_of(const struct mpr_family_line *line, size_t lines)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < lines; i++) sum += line[i].processes;
    return sum;
}

static void kinds(struct mpr_document *doc, const struct mpr_family_line *line, size_t lines,
                  const struct mpr_family_line *root)
{
    const struct mpr_family_line *chosen[KINDS];
    const size_t count = choose(doc, line, lines, chosen);
    uint64_t left = sum_of(line, lines);
    for (size_t i = 0; i < count; i++) {
        mpr_doc_say(doc, "%s%s", i ? "; " : "  ", words(doc, chosen[i], root));
        left -= chosen[i]->processes;
    }
    if (left) mpr_doc_say(doc, "; %s more", mpr_doc_count(doc, left));
    mpr_doc_end_wrapped(doc, 2);
}

/* ---- all */

#define OF(member) MPR_FIELD(mpr_family_line, member)

static struct mpr_value peak(const void *row, const void *context)
{
    (void)context;
    return mpr_value_number(MPR_BYTES, ((const struct mpr_family_line *)row)->largest->peak_bytes);
}

static const struct mpr_column columns[] = {
    { .key = "title", .type = MPR_TEXT, OF(title) },
    { .key = "processes", .type = MPR_COUNT, OF(processes) },
    { .key = "depth", .type = MPR_COUNT, OF(depth) },
    { .key = "largest_peak_bytes", .type = MPR_BYTES, .get = peak },
};

void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all)
{
    size_t lines;
    const struct mpr_family_line *line = mpr_family(&doc->arena, all, false, &lines);
    mpr_doc_table(doc, &(struct mpr_table){ .key = "processes",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(line, lines) });
    if (!lines) return;
    const bool tree = line->processes == 1 && lines > 1 && line[1].depth;
    mpr_doc_gap(doc);
    if (tree)
        mpr_doc_say(doc, "%s and its %s processes:", words(doc, line, NULL),
                    mpr_doc_count(doc, sum_of(line + 1, lines - 1)));
    else mpr_doc_say(doc, "%s processes:", mpr_doc_count(doc, sum_of(line, lines)));
    mpr_doc_end(doc);
    kinds(doc, line + tree, lines - tree, tree ? line : NULL);
}
