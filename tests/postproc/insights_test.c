#include "insights_test.h"

struct mpr_finding_text text(struct fixture *f, size_t finding)
{
    return mpr_finding_text(&f->out.arena, &f->out.finding[finding]);
}

int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    f->log.device = &f->device;
    f->log.devices = 1;
    f->log.summary.process.rank = "";
    f->state[0].valid = true;
    *state = f;
    return 0;
}

int end(void **state)
{
    struct fixture *f = *state;
    mpr_insights_free(&f->out);
    free(f);
    return 0;
}
