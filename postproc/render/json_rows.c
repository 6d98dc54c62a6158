#include "json_rows.h"

#include "json_summary.h"
#include "readings.h"

void mpr_json_path(struct mpr_json *j, const char *key, const char *const *path, size_t depth)
{
    mpr_json_open(j, key, '[');
    for (size_t i = 0; i < depth; i++) mpr_json_text(j, NULL, path[i]);
    mpr_json_close(j, ']');
}

void mpr_json_reading(struct mpr_json *j, const char *key, enum mpr_reading_source source, const struct mpr_reading *r)
{
    const struct mpr_reading_names *names = &mpr_reading_names[source];
    if (!r->valid) return;
    mpr_json_open(j, key, '{');
    mpr_json_number(j, "time_ns", r->time);
    for (int i = 0; i < MPR_READING_VALUES; i++) {
        if (names->value[i]) mpr_json_known(j, names->value[i], r->value[i], MPF_UNKNOWN);
    }
    if (source == MPR_READ_RSS && r->value[MPF_RSS_PSS] != MPF_UNKNOWN) mpr_json_number(j, "rollup_time_ns", r->taken[MPF_RSS_PSS]);
    mpr_json_close(j, '}');
}
