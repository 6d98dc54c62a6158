/* Rules on what PyTorch's blocks are for: state of the optimizer, gradients, activations,
 * temporaries and data. */
#include <string.h>

#include "amount.h"
#include "evidence.h"
#include "module_outliers.h"
#include "user_frame.h"

/* Returns the largest owner of a role, or NULL if it has no name. */
static const struct mpr_row *owner_of(const struct mpr_role_share *share)
{
    return share->rows && share->row->path.depth ? share->row : NULL;
}

/* ---- the optimizer's state, gradients */

/* The first step makes the optimizer's state, so memory that sufficed until then need not suffice
 * afterwards.  State that is smaller than the parameters has 8 bits or is sharded. */
static void optimizer_state(struct mpr_insights *out, const struct mpr_evidence *e,
                            const struct mpr_breakdown_heap *h)
{
    enum { DEVICE_SHARE = 100 };
    const struct mpr_role_share *state = &h->role[MPR_ROLE_OPTIMIZER];
    const uint64_t parameters = h->role[MPR_ROLE_PARAMETERS].bytes;
    const bool stepped = h->steps || h->phase == MPR_PHASE_OPTIMIZER;
    if (!stepped || !mpr_worth(state->bytes, h->bytes) || state->bytes < parameters) return;
    if (!mpr_worth_on_device(e, h->heap, state->bytes, DEVICE_SHARE)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_OPTIMIZER_STATE, h->heap, state->oldest, state->bytes);
    f->variant = h->role[MPR_ROLE_GATHERED].bytes ? MPR_VARIANT_SHARDED : MPR_VARIANT_WHOLE;
    mpr_finding_bytes(f, "state_bytes", state->bytes);
    mpr_finding_bytes(f, "parameter_bytes", parameters);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
    mpr_finding_count(f, "steps_before", h->steps);
}

/* Gradients outside of DistributedDataParallel's buckets, which hold a copy of them. */
static void gradient_copies(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const uint64_t outside = mpr_saturating_sub(h->role[MPR_ROLE_GRADIENTS].bytes, h->bucket_bytes),
                   bytes = outside < h->bucket_bytes ? outside : h->bucket_bytes;
    if (!mpr_worth(bytes, h->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRADIENT_COPIES, h->heap, h->time, bytes);
    mpr_finding_bytes(f, "gradient_bytes", outside);
    mpr_finding_bytes(f, "bucket_bytes", h->bucket_bytes);
}

/* Returns how many times the row's blocks are as large as all gradients, or 0 if they are not: each
 * block is a copy of all of them, flattened, or as many blocks as there are gradients are. */
static uint64_t copies_in(const struct mpr_row *row, const struct mpr_role_share *gradients)
{
    enum { TOLERANCE_SHARE = 20 }; /* a few gradients may be left out, like those of a head */
    const uint64_t each[] = { 1, gradients->blocks };
    for (size_t i = 0; i < 2; i++) {
        const uint64_t copies = each[i] && row->blocks % each[i] == 0 ? row->blocks / each[i] : 0,
                       copy = copies ? row->bytes / copies : 0;
        if (copies && copy <= gradients->bytes &&
            gradients->bytes - copy <= gradients->bytes / TOLERANCE_SHARE)
            return copies;
    }
    return 0;
}

/* Several copies of all gradients at a time, between a backward pass and the optimizer's step, that
 * no pass needs.  One may be the buffer of a norm or of communication. */
static void flattened_gradients(struct mpr_insights *out, const struct mpr_evidence *e,
                                const struct mpr_breakdown_heap *h)
{
    enum { LEAST_COPIES = 2, DEVICE_SHARE = 200 };
    const struct mpr_role_share *gradients = &h->role[MPR_ROLE_GRADIENTS],
                                *temporaries = &h->role[MPR_ROLE_TEMPORARIES];
    const struct mpr_row *largest = NULL; /* the rows are sorted */
    uint64_t bytes = 0, copies = 0;
    if (h->phase != MPR_PHASE_BETWEEN || !gradients->bytes || h->idle_bytes > gradients->bytes / 2)
        return;
    for (size_t i = 0; i < temporaries->rows; i++) {
        const struct mpr_row *row = &temporaries->row[i];
        const uint64_t more = copies_in(row, gradients);
        if (more && !largest) largest = row;
        if (more) bytes += row->bytes;
        copies += more;
    }
    if (copies < LEAST_COPIES || !largest->path.depth || !mpr_worth(bytes, h->bytes) ||
        !mpr_worth_on_device(e, h->heap, bytes, DEVICE_SHARE))
        return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GRADIENT_COPIES, h->heap, h->time, bytes);
    f->variant = MPR_VARIANT_BETWEEN_PASSES;
    f->weak = true;
    f->path = largest->path;
    mpr_finding_bytes(f, "copy_bytes", bytes);
    mpr_finding_count(f, "copies", copies);
    mpr_finding_bytes(f, "place_bytes", largest->bytes);
    mpr_finding_bytes(f, "gradient_bytes", gradients->bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

struct mpr_path mpr_role_common_path(const struct mpr_role_share *share)
{
    const struct mpr_row *row = share->row;
    if (!share->rows) return (struct mpr_path){ NULL, 0 };
    struct mpr_path path = row[0].path;
    for (size_t i = 1; i < share->rows; i++) {
        size_t depth = 0;
        if (row[i].bytes < share->bytes / 64) continue;
        while (depth < path.depth && depth < row[i].path.depth &&
               mpr_frame_compare(path.frame[depth], row[i].path.frame[depth]) == 0)
            depth++;
        path.depth = depth;
    }
    return path.depth ? path : (struct mpr_path){ NULL, 0 };
}

/* Gradients that an optimizer's step has used, and that the next forward pass does not need.  The
 * buckets of DistributedDataParallel stay by design.  If most gradients are idle, the calls of the
 * forward pass of all of them are the owner. */
static void idle_gradients(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *gradients = &h->role[MPR_ROLE_GRADIENTS];
    if (h->bucket_bytes || !mpr_worth(h->idle_bytes, h->bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_IDLE_GRADIENTS, h->heap, h->time, h->idle_bytes);
    mpr_finding_bytes(f, "idle_bytes", h->idle_bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
    if (h->idle_bytes >= gradients->bytes / 2) f->path = mpr_role_common_path(gradients);
}

/* The gradient of an embedding has all rows of its table, also those that the batch did not use.
 * In most models other gradients are larger. */
static void embedding_gradient(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    enum { LEAST_SHARE = 4 };
    const struct mpr_role_share *gradients = &h->role[MPR_ROLE_GRADIENTS];
    const struct mpr_row *row = owner_of(gradients);
    bool is_embedding = false;
    for (size_t i = 0; row && i < row->path.depth; i++)
        is_embedding |= strcmp(row->path.frame[i]->name, "Embedding.forward") == 0;
    if (!is_embedding || row->bytes < 2 * MPR_WORTH_BYTES || row->bytes < h->bytes / LEAST_SHARE ||
        row->bytes < gradients->bytes / 2)
        return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_TEMPORARIES, h->heap, h->time, row->bytes);
    f->variant = MPR_VARIANT_EMBEDDING;
    f->weak = true;
    f->path = row->path;
    mpr_finding_bytes(f, "gradient_bytes", row->bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

/* ---- temporaries */

/* Reports the largest call site, because one call site can be changed.  Each pass has some
 * temporaries at its peak: those of one layer are fine.  Without a backward pass or an optimizer's
 * step the end of a forward pass is unknown. */
static void temporaries(struct mpr_insights *out, const struct mpr_evidence *e,
                        const struct mpr_breakdown_heap *h)
{
    enum { PLACE_SHARE = 8, ALL_SHARE = 4, STEP_SHARE = 6, DEVICE_SHARE = 200 };
    const struct mpr_role_share *share = &h->role[MPR_ROLE_TEMPORARIES];
    const struct mpr_row *row = owner_of(share);
    const struct mpr_breakdown *b = e->breakdown;
    const bool has_passes = b->passes || b->steps;
    const enum mpr_finding_variant pass = !has_passes                      ? MPR_VARIANT_MODULES
                                          : h->phase == MPR_PHASE_FORWARD  ? MPR_VARIANT_FORWARD
                                          : h->phase == MPR_PHASE_BACKWARD ? MPR_VARIANT_BACKWARD
                                                                           : MPR_VARIANT_OPTIMIZER;
    if (!b->ran || !row) return;
    if (pass == MPR_VARIANT_OPTIMIZER && h->phase != MPR_PHASE_OPTIMIZER) return;
    const uint64_t least =
        pass == MPR_VARIANT_OPTIMIZER ? h->bytes / STEP_SHARE : h->bytes / PLACE_SHARE;
    if (row->bytes < MPR_WORTH_BYTES || row->bytes < least) return;
    if (!mpr_worth_on_device(e, h->heap, row->bytes, DEVICE_SHARE)) return;
    if (pass != MPR_VARIANT_OPTIMIZER && share->bytes < h->bytes / ALL_SHARE) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_TEMPORARIES, h->heap, h->time, row->bytes);
    f->variant = pass;
    f->path = row->path;
    mpr_finding_bytes(f, "temporary_bytes", share->bytes);
    mpr_finding_count(f, "temporary_blocks", share->blocks);
    mpr_finding_bytes(f, "place_bytes", row->bytes);
    mpr_finding_count(f, "place_blocks", row->blocks);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

/* ---- activations */

static void add_activations(struct mpr_insights *out, const struct mpr_breakdown_heap *h,
                            enum mpr_finding_variant variant, uint64_t saved, uint64_t bytes,
                            struct mpr_path path)
{
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_ACTIVATIONS, h->heap, h->time, saved);
    f->variant = variant;
    f->path = path;
    mpr_finding_bytes(f, "activation_bytes", bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

bool mpr_is_kept_by_graph(const struct mpr_breakdown_heap *h)
{
    enum { LEAST_BLOCKS = 8 };
    const struct mpr_role_share *share = &h->role[MPR_ROLE_TEMPORARIES];
    uint64_t largest = 0;
    size_t places = 0;
    if (h->phase != MPR_PHASE_FORWARD || !h->recorded) return false;
    if (share->bytes < MPR_WORTH_BYTES || share->bytes < h->bytes / 2) return false;
    for (size_t i = 0; i < share->rows; i++) {
        if (share->row[i].bytes > largest) largest = share->row[i].bytes;
        places += share->row[i].bytes >= share->bytes / 64;
    }
    return share->blocks >= LEAST_BLOCKS && places >= 2 && largest <= share->bytes / 4 * 3 &&
           share->row[0].path.depth;
}

/* Returns true if there is a finding on a forward pass without a backward pass. */
static bool evaluation(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *share = &h->role[MPR_ROLE_TEMPORARIES];
    if (!mpr_is_kept_by_graph(h)) return false;
    const struct mpr_path path = mpr_role_common_path(share);
    add_activations(out, h, MPR_VARIANT_EVALUATION, share->bytes, share->bytes,
                    path.depth ? path : share->row->path);
    return true;
}

const struct mpr_row *mpr_row_inside(const struct mpr_row *row, size_t rows, const char *module)
{
    const size_t bytes = strlen(module);
    const struct mpr_row *largest = NULL;
    for (size_t i = 0; i < rows; i++) {
        const struct mpr_frame *frame = mpr_frame_module(row[i].path);
        if (frame && strncmp(frame->module, module, bytes) == 0 &&
            (!frame->module[bytes] || frame->module[bytes] == '.') &&
            (!largest || row[i].bytes > largest->bytes))
            largest = &row[i];
    }
    return largest;
}

/* The module whose activations are many times those of each module of its kind.  Blocks of the
 * backward pass do not count, so activation checkpointing did not recompute them. */
static void one_module(struct mpr_insights *out, const struct mpr_breakdown_heap *h)
{
    enum { TIMES_LARGER = 4, SIBLINGS = 4 };
    const struct mpr_role_share *share = &h->role[MPR_ROLE_ACTIVATIONS];
    size_t count;
    const struct mpr_module_outlier *o =
        mpr_module_outliers(&out->arena, share->row, share->rows, h->bytes, &count);
    if (!count || o->siblings < SIBLINGS || o->bytes / TIMES_LARGER < o->sibling_most ||
        !mpr_worth(o->bytes - o->sibling_most, h->bytes / 2))
        return;
    const struct mpr_row *row = mpr_row_inside(share->row, share->rows, o->module);
    if (!row) return;
    add_activations(out, h, MPR_VARIANT_ONE_MODULE, o->bytes - o->sibling_most, o->bytes,
                    row->path);
    struct mpr_finding *f = &out->finding[out->findings - 1];
    mpr_finding_bytes(f, "sibling_bytes", o->sibling_most);
    mpr_finding_detail_text(f, "module", o->module);
}

/* Memory ran out before any backward pass, and activations hold most of it: several forward passes
 * were run for one backward pass.  Blocks that such a loop leaves look like growth. */
static void without_backward(struct mpr_insights *out, const struct mpr_evidence *e,
                             const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *share = &h->role[MPR_ROLE_ACTIVATIONS];
    if (!e->at_oom[h->device] || h->passes || h->phase != MPR_PHASE_FORWARD ||
        share->bytes < h->bytes / 2 || share->bytes < MPR_WORTH_BYTES || !share->row->path.depth)
        return;
    for (size_t i = 0; i < e->site_growths; i++)
        if (e->site_growth[i].heap == h->heap && e->site_growth[i].kept_bytes >= share->bytes / 2) {
            add_activations(out, h, MPR_VARIANT_WITHOUT_BACKWARD, share->bytes, share->bytes,
                            e->site_growth[i].path.depth ? e->site_growth[i].path
                                                         : share->row->path);
            return;
        }
}

/* ---- holders */

/* Names the owner of most live memory if no other finding on the device would have made room for
 * the request that failed.  The owner is a call site, or a pass with its activations. */
static void holders(struct mpr_insights *out, const struct mpr_evidence *e,
                    const struct mpr_breakdown_heap *h)
{
    const struct mpr_role_share *activations = &h->role[MPR_ROLE_ACTIVATIONS];
    const struct mpr_row *largest = NULL;
    if (!e->at_oom[h->device]) return;
    for (size_t i = 0; i < out->findings; i++) {
        const struct mpr_finding *other = &out->finding[i];
        if (mpf_heap_is_gpu(other->heap) && mpf_heap_device(other->heap) == h->device &&
            !other->weak && other->bytes >= mpr_insights_missing(out))
            return;
    }
    for (size_t i = 0; i < MPR_ROLES; i++)
        if (h->role[i].rows && (!largest || h->role[i].row->bytes > largest->bytes))
            largest = h->role[i].row;
    const bool of_pass = activations->bytes >= h->bytes / 2;
    if (!largest || (!of_pass && largest->bytes < h->bytes / 5 * 2)) return;
    const uint64_t bytes = of_pass ? activations->bytes : largest->bytes;
    if (bytes < MPR_WORTH_BYTES || !(of_pass ? activations->row : largest)->path.depth) return;
    if (of_pass) {
        add_activations(out, h, MPR_VARIANT_OF_PASS, bytes, bytes, activations->row->path);
        return;
    }
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_HOLDER, h->heap, h->time, bytes);
    f->path = largest->path;
    mpr_finding_bytes(f, "holder_bytes", bytes);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
}

/* Adds a possible finding: the program may need this on the device. */
static struct mpr_finding *add_held(struct mpr_insights *out, const struct mpr_breakdown_heap *h,
                                    enum mpr_finding_variant variant, const struct mpr_row *row)
{
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_HOLDER, h->heap, h->time, row->bytes);
    f->variant = variant;
    f->weak = true;
    f->path = row->path;
    mpr_finding_bytes(f, "holder_bytes", row->bytes);
    mpr_finding_count(f, "holder_blocks", row->blocks);
    mpr_finding_bytes(f, "heap_bytes", h->bytes);
    return f;
}

/* A training program that did not run out of memory, but keeps other data than its model: a
 * checkpoint that was loaded, a copy of the model, a data set. */
static void held_data(struct mpr_insights *out, const struct mpr_evidence *e,
                      const struct mpr_breakdown *b, const struct mpr_breakdown_heap *h)
{
    enum { LEAST_SHARE = 4, LEAST_BYTES = 4 * MPR_WORTH_BYTES };
    const struct mpr_row *row = owner_of(&h->role[MPR_ROLE_INPUTS]);
    if (e->at_oom[h->device] || !b->passes || !row ||
        mpr_finding_of(out, MPR_FINDING_GROWTH, h->heap))
        return;
    if (row->bytes >= LEAST_BYTES && row->bytes >= h->bytes / LEAST_SHARE)
        add_held(out, h, MPR_VARIANT_HELD_DATA, row);
}

/* A program that runs modules and does not train, and keeps more other data than all that its
 * modules have: an index, embeddings of documents.  Its own code made few large blocks: a library
 * may have loaded the weights of a model, which are many blocks.  Half of a device is a pool that
 * is sized to the device, such as a server's KV cache. */
static void held_for_inference(struct mpr_insights *out, const struct mpr_evidence *e,
                               const struct mpr_breakdown *b, const struct mpr_breakdown_heap *h)
{
    enum { LEAST_BYTES = 4 * MPR_WORTH_BYTES };
    const struct mpr_row *row = owner_of(&h->role[MPR_ROLE_INPUTS]);
    const uint64_t total = e->state ? e->state[h->device].total : MPF_UNKNOWN;
    if (e->at_oom[h->device] || b->passes || b->steps || !row || row->bytes >= total / 2 ||
        row->bytes < LEAST_BYTES || row->bytes < h->bytes / 2 ||
        row->bytes / MPR_WORTH_BYTES < row->blocks ||
        !mpr_worth_on_device(e, h->heap, row->bytes, MPR_WORTH_SHARE) ||
        mpr_finding_of(out, MPR_FINDING_GROWTH, h->heap))
        return;
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    if (mpr_user_frames_is_own(user_frames, &out->arena, row->path))
        add_held(out, h, MPR_VARIANT_HELD_FOR_INFERENCE, row);
    mpr_user_frames_free(user_frames);
}

/* Buffers that each module of the program makes for itself in its constructor, such as a mask.  The
 * state of an optimizer has at least a quarter of the bytes that it trains, even in 8 bits, and
 * gradients have all of them.  PyTorch's layers make parameters. */
static void held_buffers(struct mpr_insights *out, const struct mpr_evidence *e,
                         const struct mpr_breakdown_heap *h)
{
    enum { LEAST_SHARE = 4, LEAST_BYTES = 4 * MPR_WORTH_BYTES, STATE_SHARE = 4 };
    static const char layers[] = "torch/nn/";
    const struct mpr_row *row = owner_of(&h->role[MPR_ROLE_PARAMETERS]);
    const uint64_t state = h->role[MPR_ROLE_OPTIMIZER].bytes,
                   gradients = h->role[MPR_ROLE_GRADIENTS].bytes;
    if (e->at_oom[h->device] || !row || row->blocks < 2 || !state || row->bytes < LEAST_BYTES ||
        row->bytes < h->bytes / LEAST_SHARE || state >= row->bytes / STATE_SHARE ||
        gradients >= row->bytes / STATE_SHARE)
        return;
    bool constructs = false;
    for (size_t i = 0; i < row->path.depth; i++) {
        const struct mpr_frame *frame = row->path.frame[i];
        if (strncmp(frame->file, layers, sizeof layers - 1) == 0) return;
        constructs |= strstr(frame->name, ".__init__") != NULL;
    }
    if (!constructs) return;
    struct mpr_finding *f = add_held(out, h, MPR_VARIANT_HELD_BUFFERS, row);
    mpr_finding_bytes(f, "each_bytes", row->bytes / row->blocks);
    mpr_finding_bytes(f, "state_bytes", state);
}

void mpr_insights_roles(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++) {
        const struct mpr_breakdown_heap *h = &e->breakdown->heap[i];
        optimizer_state(out, e, h);
        gradient_copies(out, h);
        flattened_gradients(out, e, h);
        idle_gradients(out, h);
        embedding_gradient(out, h);
        one_module(out, h);
        without_backward(out, e, h);
        if (!evaluation(out, h)) temporaries(out, e, h);
    }
}

void mpr_insights_holders(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++) {
        holders(out, e, &e->breakdown->heap[i]);
        held_data(out, e, e->breakdown, &e->breakdown->heap[i]);
        held_for_inference(out, e, e->breakdown, &e->breakdown->heap[i]);
        held_buffers(out, e, &e->breakdown->heap[i]);
    }
}
