#include "report_rows.h"

#include "module_outliers.h"
#include "naming.h"

const struct mpr_column mpr_row_columns[3] = { MPR_ROW_PATH, MPR_ROW_BYTES, MPR_ROW_BLOCKS };

const char *mpr_report_heading(struct mpr_document *doc, const char *of, enum mpr_group by)
{
    return mpr_arena_format(&doc->arena, "%s by %s", of, mpr_group_word(by));
}

const char *mpr_report_call_words(struct mpr_document *doc, struct mpr_path path,
                                  const char *caller)
{
    const char *text = mpr_doc_path(doc, path);
    return *caller ? mpr_arena_format(&doc->arena, "%s <- %s", text, caller) : text;
}

const char *mpr_report_path_words(struct mpr_document *doc, struct mpr_path path)
{
    const struct mpr_naming *naming = doc->naming;
    if (!naming || !naming->user_frames) return mpr_doc_path(doc, path);
    return mpr_doc_path(
        doc, mpr_user_frames_summary(naming->user_frames, &doc->arena, path, false).path);
}

/* ---- modules */

#define OF_SUBTREE(member) MPR_FIELD(mpr_module_outlier, member)

static const struct mpr_column module_columns[] = {
    { .key = "module", .type = MPR_TEXT, OF_SUBTREE(module) },
    { .key = "bytes", .type = MPR_BYTES, OF_SUBTREE(bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF_SUBTREE(blocks) },
    { .key = "siblings", .type = MPR_COUNT, OF_SUBTREE(siblings) },
    { .key = "estimated", .type = MPR_FLAG, OF_SUBTREE(estimated), .unless = MPR_ABSENT_AT_0 },
    { .key = "smallest_sibling_bytes", .type = MPR_BYTES, OF_SUBTREE(sibling_least) },
    { .key = "largest_sibling_bytes", .type = MPR_BYTES, OF_SUBTREE(sibling_most) },
};

void mpr_report_modules(struct mpr_document *doc, const struct mpr_row *row, size_t rows,
                        uint64_t whole)
{
    enum { SHOWN = 3 };
    size_t modules;
    const struct mpr_module_outlier *m =
        mpr_module_outliers(&doc->arena, row, rows, whole, &modules);
    if (!modules) return;
    mpr_doc_objects(doc, "module_outliers", module_columns, m, modules);
    for (size_t i = 0; i < modules && i < SHOWN; i++)
        mpr_doc_line(doc, "  [%s] in all: %s%s  %s", m[i].module, m[i].estimated ? "~" : "",
                     mpr_doc_size(doc, m[i].bytes),
                     mpr_report_siblings(doc, m[i].sibling_least, m[i].sibling_most));
}
