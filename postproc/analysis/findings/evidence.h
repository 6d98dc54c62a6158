/* The input of the rules of insights, and the functions with which they add findings.  Private to
 * insights.c, finding.c, rules_*.c and ranks_findings.c.
 *
 * A rule is a function of the evidence.  It adds a finding only if the numbers show one. */
#ifndef MPR_EVIDENCE_H
#define MPR_EVIDENCE_H

#include "amount.h"
#include "breakdown.h"
#include "device_evidence.h"
#include "heap_names.h"
#include "insights.h"
#include "leaks.h"
#include "mpf/event.h"
#include "retained.h"
#include "segments.h"
#include "site_growth.h"
#include "steps.h"

struct mpr_evidence {
    const struct mpr_log_peaks *log;
    const struct mpr_segments *segments; /* when memory ran out, or at each device's peak */
    const struct mpr_steps *steps;       /* NULL if no range repeats */
    const struct mpr_leaks *leaks; /* growth over time, or NULL if the log was not read for it */
    const struct mpr_breakdown *breakdown;     /* at the same instants, or NULL if PyTorch held no
                                                  device memory */
    const struct mpr_site_growth *site_growth; /* by the sites' own clocks, one per heap */
    size_t site_growths;
    const struct mpr_site_temporary *site_temporary; /* one per heap */
    size_t site_temporaries;
    const struct mpr_site_use *site_use; /* one per heap */
    size_t site_uses;
    const struct mpr_segment_churn *churn; /* one per device */
    size_t churns;
    const struct mpr_device_evidence *device; /* by index, at the instants of `state`; or NULL */
    const struct mpr_device_state *state;     /* state of each device at the same instants */
    uint64_t refusals[MPF_GPUS]; /* of device memory, whether or not the program got it later */
    bool at_oom[MPF_GPUS];       /* its state is the one when memory ran out */
    struct mpr_retained retained;
    size_t threads; /* with events */
    bool jemalloc;  /* the log has samples of jemalloc's figures */
};

/* The least size of a finding: bytes, and the share of a heap or device. */
enum { MPR_WORTH_BYTES = 64 << 20, MPR_WORTH_SHARE = 20 };
static inline bool mpr_worth(uint64_t bytes, uint64_t whole)
{
    return bytes >= MPR_WORTH_BYTES && bytes >= whole / MPR_WORTH_SHARE;
}

/* Returns true if the bytes are at least that share of the device's memory, if memory ran out, or
 * if the device's size is unknown.  On a device that has room, memory that every such program
 * needs is not worth a change. */
static inline bool mpr_worth_on_device(const struct mpr_evidence *e, uint8_t heap, uint64_t bytes,
                                       unsigned share)
{
    const unsigned device = mpf_heap_device(heap);
    return !e->state || !e->state[device].valid || e->at_oom[device] ||
           e->state[device].total == MPF_UNKNOWN || bytes >= e->state[device].total / share;
}

/* The limit is lower for growth, because it continues. */
enum { MPR_GROWN_BYTES = 4 << 20 };
static inline bool mpr_worth_growth(uint64_t bytes, uint64_t whole)
{
    return bytes >= MPR_GROWN_BYTES && bytes >= whole / MPR_WORTH_SHARE;
}

/* Adds a finding and returns it, so that the rule adds the facts.  The pointer is valid until the
 * next finding is added.  @time: ns, when it was seen. */
struct mpr_finding *mpr_finding_add(struct mpr_insights *out, enum mpr_finding_kind kind,
                                    uint8_t heap, uint64_t time, uint64_t bytes);
void mpr_finding_bytes(struct mpr_finding *f, const char *key, uint64_t value);
/* @estimated: the value is an estimate, and shown as one */
void mpr_finding_estimate(struct mpr_finding *f, const char *key, uint64_t value, bool estimated);
void mpr_finding_count(struct mpr_finding *f, const char *key, uint64_t value);
void mpr_finding_fact(struct mpr_finding *f, struct mpr_fact fact);
/* Adds a value that only the finding's sentences use. */
void mpr_finding_detail(struct mpr_finding *f, struct mpr_fact detail);
/* The same with a text, which outlives the finding. */
void mpr_finding_detail_text(struct mpr_finding *f, const char *key, const char *text);
/* Call it after the rules: leaves one finding for each cause, and sorts them by use. */
void mpr_findings_settle(struct mpr_insights *insights);

/* Returns the bytes that were missing when memory ran out. */
uint64_t mpr_insights_missing(const struct mpr_insights *insights);
/* Returns the largest row of the module or of one inside of it, or NULL. */
const struct mpr_row *mpr_row_inside(const struct mpr_row *row, size_t rows, const char *module);

/* The rules. */
void mpr_insights_torch(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_roles(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_device(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_growth(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_steps(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_sites(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_uses(struct mpr_insights *out, const struct mpr_evidence *e);
/* Last: looks at the findings of the other rules. */
void mpr_insights_holders(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_family(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_resident(struct mpr_insights *out, const struct mpr_evidence *e);
void mpr_insights_host(struct mpr_insights *out, const struct mpr_evidence *e);

#endif
