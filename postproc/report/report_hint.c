#include "report_hint.h"

#include <string.h>

#include "hint_parts.h"
#include "insights.h"
#include "shell.h"

/* "python3 train.py --seed 3", whole: it is pasted into a shell. */
static const char *command(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = s->recording.root ? &s->process : doc->started;
    const char *line = "";
    for (size_t i = 0; p && i < p->argc; i++) {
        const char *word = mpr_shell_word(&doc->arena, p->argv[i]);
        line = mpr_arena_format(&doc->arena, "%s%s%s", line, *line ? " " : "", word);
    }
    return *line ? line : "...";
}

void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *s, const char *recorder)
{
    mpr_doc_command(doc, "  %s -- %s", recorder, command(doc, s));
}

static void hint(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted)
{
    mpr_hint_allocator(doc, log);
    mpr_hint_symbols(doc, log, noted);
    if (log->choice.by != MPR_GROUP_PYTHON) mpr_hint_host(doc, log);
    mpr_hint_calls(doc, log);
    mpr_hint_torch(doc, log);
}

void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    hint(doc, log, true);
}

/* Who began the process, or began who did, as the user typed it. */
static const struct mpr_process_info *started(const struct mpr_processes *all, const char *log)
{
    size_t at = 0;
    while (at < all->count && strcmp(all->at[at].summary.path, log) != 0) at++;
    while (at < all->count && !all->at[at].summary.recording.root)
        at = all->at[at].image_of != MPR_NO_PROCESS ? all->at[at].image_of : all->at[at].above;
    return at < all->count ? &all->at[at].summary.process : NULL;
}

void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    if (in->family) doc->started = started(in->family, log->summary.path);
    hint(doc, log, false);
}
