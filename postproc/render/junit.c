#include "junit.h"

#include "check.h"
#include "html_document.h"
#include "reports.h"

static void attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    mpr_html_text(out, value);
    fputc('"', out);
}

static const char *not_found(struct mpr_document *doc, const struct mpr_check_row *r)
{
    return mpr_arena_format(&doc->arena, "no log has %s (%s)", mpr_report_limit(doc, r),
                            r->limit.from);
}

static void one(FILE *out, struct mpr_document *doc, const struct mpr_check_row *r)
{
    fputs("    <testcase", out);
    attribute(out, "classname", r->log);
    attribute(out, "name", mpr_report_limit(doc, r));
    if (!r->over && !r->not_found) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s", r->over ? "failure" : "error");
    attribute(out, "message", r->over ? mpr_report_broken(doc, r) : not_found(doc, r));
    fputs("/>\n    </testcase>\n", out);
}

void mpr_junit_write(FILE *out, const struct mpr_check *check, const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming };
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"memprof-report check\" tests=\"%zu\" failures=\"%zu\" "
            "errors=\"%zu\">\n",
            check->rows, check->broken, check->not_found);
    for (size_t i = 0; i < check->rows; i++) one(out, &doc, &check->row[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
    mpr_doc_free(&doc);
}
