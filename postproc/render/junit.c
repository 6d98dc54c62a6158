/* Each limit is a test case.  An exceeded limit is a failure, and a limit that matches nothing is
 * an error. */
#include "check.h"
#include "html.h"
#include "render.h"
#include "reports.h"

static void attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    mpr_html_text(out, value);
    fputc('"', out);
}

void mpr_junit_write(FILE *out, const struct mpr_check *check, const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming };
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"memprof-report check\" tests=\"%zu\" failures=\"%zu\" "
            "errors=\"%zu\">\n",
            check->rows, check->broken, check->not_found);
    for (const struct mpr_check_row *r = check->row; r < check->row + check->rows; r++) {
        const char *limit = mpr_report_limit(&doc, r);
        fputs("    <testcase", out);
        attribute(out, "classname", r->log);
        attribute(out, "name", limit);
        if (!r->over && !r->not_found) {
            fputs("/>\n", out);
            continue;
        }
        fprintf(out, ">\n      <%s", r->over ? "failure" : "error");
        attribute(out, "message",
                  r->over
                      ? mpr_report_broken(&doc, r)
                      : mpr_arena_format(&doc.arena, "no log has %s (%s)", limit, r->limit.from));
        fputs("/>\n    </testcase>\n", out);
    }
    fputs("  </testsuite>\n</testsuites>\n", out);
    mpr_doc_free(&doc);
}
