#include "exports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "code.h"
#include "profile.h"

/* Fields of github.com/google/pprof/proto/profile.proto */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE = 2,
    MAPPING = 3,
    LOCATION = 4,
    FUNCTION = 5,
    STRING_TABLE = 6,
    TIME_NANOS = 9,
    DURATION_NANOS = 10,
    PERIOD_TYPE = 11,
    PERIOD = 12,
    COMMENT = 13,
    DEFAULT_SAMPLE_TYPE = 14
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_HAS_FUNCTIONS,
    MAPPING_HAS_FILES,
    MAPPING_HAS_LINES,
    MAPPING_HAS_INLINED
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

static void put(struct mpr_pprof *p, unsigned field)
{
    mpr_protobuf_message(&p->profile, field, &p->message);
}

/* Returns the number of a text, from 0. */
static uint32_t text_number(struct mpr_pprof *p, const char *text)
{
    return mpr_strings_number(&p->texts, text) - 1;
}

static void put_type(struct mpr_pprof *p, unsigned field, const char *type, const char *unit)
{
    mpr_protobuf_number(&p->message, VALUE_TYPE, text_number(p, type));
    mpr_protobuf_number(&p->message, VALUE_UNIT, text_number(p, unit));
    put(p, field);
}

void mpr_pprof_begin(struct mpr_pprof *p)
{
    *p = (struct mpr_pprof){ .begin_ns = UINT64_MAX };
    text_number(p, ""); /* the format requires that this is text 0 */
    put_type(p, SAMPLE_TYPE, "alloc_objects", "count");
    put_type(p, SAMPLE_TYPE, "alloc_space", "bytes");
    put_type(p, SAMPLE_TYPE, "inuse_objects", "count");
    put_type(p, SAMPLE_TYPE, "inuse_space", "bytes");
    put_type(p, PERIOD_TYPE, "space", "bytes");
    mpr_protobuf_number(&p->profile, PERIOD, 1);
    mpr_protobuf_number(&p->profile, DEFAULT_SAMPLE_TYPE, text_number(p, "inuse_space"));
}

/* ---- functions and locations */

/* Returns the id of a function.  "<module>" becomes "(module)", because pprof removes text in <> as
 * template arguments. */
static uint32_t function_id(struct mpr_pprof *p, const char *name, const char *file)
{
    const size_t bytes = strlen(name);
    const bool brackets = *name == '<' && name[bytes - 1] == '>';
    char *shown = brackets ? mpr_text_format("(%.*s)", (int)(bytes - 2), name + 1) : NULL;
    const uint32_t name_text = text_number(p, shown ? shown : name),
                   file_text = text_number(p, file);
    free(shown);
    const uint64_t key = (uint64_t)name_text << 32 | file_text;
    const uint32_t known = mpr_index_get(&p->function, key);
    if (known) return known;
    mpr_protobuf_number(&p->message, FUNCTION_ID, ++p->functions);
    mpr_protobuf_number(&p->message, FUNCTION_NAME, name_text);
    mpr_protobuf_number(&p->message, FUNCTION_SYSTEM_NAME, name_text);
    mpr_protobuf_number(&p->message, FUNCTION_FILE, file_text);
    put(p, FUNCTION);
    mpr_index_set(&p->function, key, p->functions);
    return p->functions;
}

/* The first mapping is the program, which gives the profile its name.  Locations in unknown object
 * files also belong to it. */
enum { PROGRAM = 1 };

/* Ends a mapping, with flags that all names are known, because otherwise pprof would look for them.
 */
static void end_mapping(struct mpr_pprof *p)
{
    for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++)
        mpr_protobuf_number(&p->message, has, 1);
    put(p, MAPPING);
}

static uint32_t mapping_id(struct mpr_pprof *p, const struct mpr_profile *profile, uint32_t module)
{
    if (!module || module > profile->modules) return PROGRAM;
    MPR_REACH(p->of_module, module, p->modules);
    if (p->of_module[module]) return p->of_module[module];
    const struct mpr_profile_module *m = &profile->module[module - 1];
    mpr_protobuf_number(&p->message, MAPPING_ID, ++p->mappings);
    mpr_protobuf_number(&p->message, MAPPING_START, m->from);
    mpr_protobuf_number(&p->message, MAPPING_LIMIT, m->to);
    mpr_protobuf_number(&p->message, MAPPING_FILE, text_number(p, m->path));
    mpr_protobuf_number(&p->message, MAPPING_BUILD_ID, text_number(p, m->build_id));
    end_mapping(p);
    return p->of_module[module] = p->mappings;
}

static void put_line(struct mpr_pprof *p, uint32_t function_id, uint64_t line)
{
    mpr_protobuf_number(&p->inside, LINE_FUNCTION, function_id);
    mpr_protobuf_number(&p->inside, LINE_NUMBER, line);
    mpr_protobuf_message(&p->message, LOCATION_LINE, &p->inside);
}

/* Returns the id of a location, which has all calls that are inlined into each other.  Functions
 * are written before it, because both are made in the same message. */
static uint32_t location_id(struct mpr_pprof *p, const struct mpr_profile *profile, uint32_t first)
{
    const struct mpr_code_frame *frame = profile->code.frame;
    uint32_t last = first;
    MPR_REACH(p->of_frame, first, p->frames);
    if (p->of_frame[first]) return p->of_frame[first];
    while (frame[last].inlined) last++;
    const uint32_t module = mapping_id(p, profile, frame[first].module);
    for (uint32_t i = first; i <= last; i++)
        function_id(p, frame[i].function, frame[i].frame->path);
    mpr_protobuf_number(&p->message, LOCATION_ID, ++p->locations);
    mpr_protobuf_number(&p->message, LOCATION_MAPPING, module);
    mpr_protobuf_number(&p->message, LOCATION_ADDRESS, frame[first].address);
    for (uint32_t i = first; i <= last; i++)
        put_line(p, function_id(p, frame[i].function, frame[i].frame->path), frame[i].frame->line);
    put(p, LOCATION);
    return p->of_frame[first] = p->locations;
}

/* Returns the id of the outermost location of all stacks of a heap, which separates the heaps. */
static uint32_t heap_location(struct mpr_pprof *p, uint8_t heap)
{
    const uint32_t id = function_id(p, mpr_heap_name(heap), ""),
                   known = mpr_index_get(&p->heap, id);
    if (known) return known;
    mpr_protobuf_number(&p->message, LOCATION_ID, ++p->locations);
    mpr_protobuf_number(&p->message, LOCATION_MAPPING, PROGRAM);
    put_line(p, id, 0);
    put(p, LOCATION);
    mpr_index_set(&p->heap, id, p->locations);
    return p->locations;
}

/* ---- samples */

static void put_label(struct mpr_pprof *p, const char *key, const char *text)
{
    struct mpr_blob label = { 0 };
    if (!*text) return;
    mpr_protobuf_number(&label, LABEL_KEY, text_number(p, key));
    mpr_protobuf_number(&label, LABEL_TEXT, text_number(p, text));
    mpr_protobuf_message(&p->message, SAMPLE_LABEL, &label);
    mpr_blob_free(&label);
}

static void put_sample(struct mpr_pprof *p, const struct mpr_profile *profile,
                       const struct mpr_profile_sample *s, const char *pid)
{
    const struct mpr_code_stack stack = mpr_code_stack(&profile->code, s->stack);
    struct mpr_blob ids = { 0 };
    for (size_t i = 0; i < stack.frames; i++) {
        mpr_blob_number(&ids, location_id(p, profile, stack.frame[i]));
        while (profile->code.frame[stack.frame[i]].inlined) i++;
    }
    mpr_blob_number(&ids, heap_location(p, s->heap));
    mpr_protobuf_message(&p->message, SAMPLE_LOCATION, &ids);
    mpr_blob_free(&ids);
    for (unsigned i = 0; i < MPR_PROFILE_VALUES; i++) mpr_blob_number(&p->inside, s->value[i]);
    mpr_protobuf_message(&p->message, SAMPLE_VALUE, &p->inside);
    put_label(p, "heap", mpr_heap_name(s->heap));
    put_label(p, "range", s->range);
    put_label(p, "thread", s->thread);
    put_label(p, "rank", profile->summary.process.rank);
    put_label(p, "pid", pid);
    put(p, SAMPLE);
}

/* ---- the profile */

static void forget_log(struct mpr_pprof *p)
{
    free(p->of_frame);
    free(p->of_module);
    p->of_frame = p->of_module = NULL;
    p->frames = p->modules = 0;
}

void mpr_pprof_add(struct mpr_pprof *p, const struct mpr_profile *profile)
{
    const struct mpr_process_info *process = &profile->summary.process;
    const uint64_t begin = process->start_ns, end = begin + profile->summary.duration_ns;
    char *pid = mpr_text_format("%" PRIu64, process->pid);
    if (!p->mappings) {
        mpr_protobuf_number(&p->message, MAPPING_ID, ++p->mappings);
        mpr_protobuf_number(&p->message, MAPPING_FILE,
                            text_number(p, process->argc ? process->argv[0] : ""));
        end_mapping(p);
    }
    for (size_t i = 0; i < profile->samples; i++) put_sample(p, profile, &profile->sample[i], pid);
    mpr_protobuf_number(&p->profile, COMMENT, text_number(p, profile->summary.path));
    if (begin < p->begin_ns) p->begin_ns = begin;
    if (end > p->end_ns) p->end_ns = end;
    forget_log(p);
    free(pid);
}

void mpr_pprof_end(struct mpr_pprof *p, FILE *out)
{
    if (p->end_ns) {
        mpr_protobuf_number(&p->profile, TIME_NANOS, p->begin_ns);
        mpr_protobuf_number(&p->profile, DURATION_NANOS, p->end_ns - p->begin_ns);
    }
    for (uint32_t i = 0; i < p->texts.count; i++)
        mpr_protobuf_text(&p->profile, STRING_TABLE, p->texts.at[i]);
    mpr_blob_gzip(&p->profile, out);
}

void mpr_pprof_free(struct mpr_pprof *p)
{
    forget_log(p);
    mpr_blob_free(&p->profile);
    mpr_blob_free(&p->message);
    mpr_blob_free(&p->inside);
    mpr_strings_free(&p->texts);
    mpr_index_free(&p->function);
    mpr_index_free(&p->heap);
}
