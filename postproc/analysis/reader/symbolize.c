/* Reads only the object files and call stacks of a log. */
#include "symbolize.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "labels.h"
#include "log.h"
#include "ranges.h"
#include "sites.h"
#include "store.h"

/* ---- the calls of a log, sorted by object file */

struct call {
    const struct mpr_module *module;
    uint64_t offset;
    uint32_t number; /* of the module */
};

/* An object without a build id is identified by its path only. */
static int compare_objects(const struct mpr_module *a, const struct mpr_module *b)
{
    if (a->build_id_bytes != b->build_id_bytes)
        return a->build_id_bytes < b->build_id_bytes ? -1 : 1;
    return a->build_id_bytes ? memcmp(a->build_id, b->build_id, a->build_id_bytes)
                             : strcmp(a->path, b->path);
}

MPR_COMPARE(in_order, struct call,
            compare_objects(a->module, b->module) ?: mpr_compare(a->offset, b->offset))

/* Returns each call once. */
static struct call *list_calls(const struct mpr_sites *s, uint64_t *count)
{
    struct call *call = mpr_alloc(s->stacks.nodes, sizeof *call);
    size_t all = 0;
    for (uint32_t i = 1; i < s->stacks.nodes; i++) {
        const struct mpr_stack_node *n = &s->stacks.node[i];
        const struct mpr_module *m = n->module ? &s->module[n->module - 1] : NULL;
        if (m) call[all++] = (struct call){ m, n->pc - m->from, n->module };
    }
    if (all) qsort(call, all, sizeof *call, in_order);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (!*count || in_order(&call[*count - 1], &call[i])) call[(*count)++] = call[i];
    return call;
}

/* ---- storing */

/* Looks up a call of an object, at its offset in the module of the first call. */
static const struct mpr_symbol *look(struct mpr_names *names, const struct mpr_sites *sites,
                                     const struct call *first, uint64_t offset, size_t *count)
{
    return mpr_names_calls(names, sites, first->number, first->module->from + offset, count);
}

/* Stores the names. An object without any name is left out, so that reports note that it is
 * missing. */
static int store(struct mpr_symbolized *out, struct mpr_arena *arena, const struct mpr_sites *sites,
                 struct mpr_names *names, const uint8_t id[16], const char *path,
                 struct mpr_error *error)
{
    struct mpr_store *store = mpr_store_new(id);
    struct call *call = list_calls(sites, &out->calls);
    for (size_t i = 0, next; i < out->calls; i = next) {
        const struct mpr_module *m = call[i].module;
        const struct mpr_binary object = { m->path, m->build_id, m->build_id_bytes, m->from };
        uint64_t named = 0;
        size_t k, calls = 0;
        for (next = i + 1; next < out->calls && !compare_objects(m, call[next].module);) next++;
        for (k = i; k < next && !calls; k++) look(names, sites, &call[i], call[k].offset, &calls);
        if (!calls) continue;
        k = i;
        for (bool room = mpr_store_object(store, &object); room && k < next; k += room) {
            const struct mpr_symbol *symbol = look(names, sites, &call[i], call[k].offset, &calls);
            room = mpr_store_address(store, call[k].offset, symbol, calls);
            named += room && calls;
        }
        out->left_out += next - k;
        out->named += named;
        out->objects += named > 0;
    }
    out->note = mpr_names_notes(names, arena, sites, &out->notes);
    const long bytes = out->named ? mpr_store_write(store, path, error) : 0;
    if (bytes > 0) out->bytes = (uint64_t)bytes;
    mpr_store_free(store);
    free(call);
    return bytes < 0 ? -1 : 0;
}

int mpr_symbolize(struct mpr_symbolized *out, struct mpr_arena *arena, const char *path,
                  const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_sites sites = { 0 };
    struct mpr_ranges none = { 0 }; /* native stacks have no ranges */
    struct mpr_log *log;
    const struct mpf_event *e;
    long count;
    int status = -1;
    *out = (struct mpr_symbolized){ 0 };
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_alloc_set_path(path);
    const uint8_t *id = mpr_log_header(log)->id;
    struct mpr_names *names = mpr_names_new(path, id);
    if (mpr_names_are_newer(names))
        mpr_fail(error, "%s.symbols: a newer memprof wrote this file; it was not changed", path);
    else {
        while ((count = mpr_log_next(log, &e, error)) > 0) {
            for (long i = 0; i < count; i++)
                if (e[i].op == MPF_OP_MODULE || e[i].op == MPF_OP_STACK)
                    mpr_sites_event(&sites, &none, &e[i]);
            if (progress->tick)
                progress->tick(progress->arg, path, mpr_log_position(log),
                               mpr_log_status(log)->bytes);
        }
        if (count == 0) status = store(out, arena, &sites, names, id, path, error);
    }
    out->incomplete = mpr_log_incomplete(mpr_log_status(log));
    mpr_names_free(names);
    mpr_sites_free(&sites);
    mpr_log_close(log);
    mpr_alloc_set_path(NULL);
    return status;
}
