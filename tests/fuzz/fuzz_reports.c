/* Runs a command on a log that was changed inside its frames and has valid checksums. Decoders
 * accept such a log, so replay, analysis and rendering are tested. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fuzz.h"
#include "packed.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { ARGUMENTS = 5 };

static const struct {
    int (*run)(int argc, char **argv);
    const char *argument[ARGUMENTS];
    int logs; /* number of logs that the command takes, all of them this log */
} commands[] = {
    { mpr_cmd_summary, { "summary" }, 1 },
    { mpr_cmd_summary, { "summary", "-fcsv" }, 1 },
    { mpr_cmd_peaks, { "peaks", "-fjson" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--by=python" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--by=stack", "--frames=all" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--at=end", "-fcsv" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--backward-of", "--unfold" }, 1 },
    { mpr_cmd_oom, { "oom" }, 1 },
    { mpr_cmd_oom, { "oom", "-fjson" }, 1 },
    { mpr_cmd_summary, { "summary", "--all" }, 1 },
    { mpr_cmd_timeline, { "timeline" }, 1 },
    { mpr_cmd_timeline, { "timeline", "-fjson" }, 1 },
    { mpr_cmd_timeline, { "timeline", "-fcsv" }, 1 },
    { mpr_cmd_html, { "html" }, 1 },
    { mpr_cmd_html, { "html" }, 2 },
    { mpr_cmd_graphs, { "graphs" }, 1 },
    { mpr_cmd_segments, { "segments" }, 1 },
    { mpr_cmd_segments, { "segments", "-fjson" }, 1 },
    { mpr_cmd_steps, { "steps" }, 1 },
    { mpr_cmd_leaks, { "leaks" }, 1 },
    { mpr_cmd_processes, { "processes" }, 1 },
    { mpr_cmd_temporary, { "temporary" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--by=thread", "-fjson" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--tree" }, 1 },
    { mpr_cmd_peaks, { "peaks", "--tree", "--folded" }, 1 },
    { mpr_cmd_info, { "log info" }, 1 },
    { mpr_cmd_verify, { "log verify" }, 1 },
    { mpr_cmd_diff, { "diff" }, 2 },
    { mpr_cmd_check, { "check", "--max=host/heap=1TiB" }, 1 },
    { mpr_cmd_check, { "check", "--suggest" }, 1 },
    { mpr_cmd_breakdown, { "breakdown" }, 1 },
    { mpr_cmd_ranks, { "ranks" }, 1 },
    { mpr_cmd_export, { "export", "--to=pprof" }, 1 },
    { mpr_cmd_export, { "export", "--to=perfetto" }, 1 },
    { mpr_cmd_export, { "export", "--to=torch-snapshot" }, 1 },
    { mpr_cmd_peaks, { "peaks", "-ffolded", "--top=2" }, 1 },
    { mpr_cmd_timeline, { "timeline", "-ffolded" }, 1 },
    { mpr_cmd_diff, { "diff", "-ffolded" }, 2 },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t log[2 * PACKED_MAX];
    static char option[] = "-o", nothing[] = "/dev/null";
    char *argv[ARGUMENTS + 5];
    int argc = 0;
    if (!size) return 0;
    const size_t bytes = packed_log(data, size, log, sizeof log);
    const char *path = fuzz_file("log.zst", log, bytes);
    const unsigned which = data[0] % COMMANDS;
    for (int i = 0; i < ARGUMENTS && commands[which].argument[i]; i++)
        argv[argc++] = (char *)commands[which].argument[i];
    argv[argc++] = option;
    argv[argc++] = nothing;
    for (int i = 0; i < commands[which].logs; i++) argv[argc++] = (char *)path;
    argv[argc] = NULL;
    commands[which].run(argc, argv);
    return 0;
}

/* ---- mutations: the command, the order of frames, or the inside of one */

static size_t append(uint8_t *to, size_t size, size_t max, const uint8_t *data,
                     const struct packed *f)
{
    const size_t longer = packed_add(to, size, max, f->kind, data + f->at, f->bytes);
    return longer ? longer : size;
}

static size_t drop_or_double(const uint8_t *data, const struct packed *frame, size_t frames,
                             unsigned seed, uint8_t *out, size_t max)
{
    const size_t chosen = (seed >> 8) % frames, times = seed & 128 ? 2 : 0;
    size_t size = 1;
    for (size_t i = 0; i < frames; i++)
        for (size_t t = i == chosen ? times : 1; t > 0; t--)
            size = append(out, size, max, data, &frame[i]);
    return size;
}

static size_t change_one(const uint8_t *data, const struct packed *frame, size_t frames,
                         unsigned seed, uint8_t *out, size_t max)
{
    static uint8_t body[2 * PACKED_MAX];
    const size_t chosen = (seed >> 8) % frames;
    size_t size = 1;
    for (size_t i = 0; i < frames; i++) {
        struct packed f = frame[i];
        if (i != chosen || f.bytes > PACKED_MAX) {
            size = append(out, size, max, data, &f);
            continue;
        }
        memcpy(body, data + f.at, f.bytes);
        f.at = 0;
        f.bytes = LLVMFuzzerMutate(body, f.bytes, f.bytes + 64);
        size = append(out, size, max, body, &f);
    }
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static uint8_t out[2 * PACKED_MAX];
    struct packed frame[PACKED_FRAMES];
    const size_t frames = packed_frames(data, size, frame);
    if (max > sizeof out) max = sizeof out;
    if (!frames || max < 1) return LLVMFuzzerMutate(data, size, max);
    if (seed % 16 == 0) {
        data[0] = (uint8_t)(seed >> 8);
        return size;
    }
    const size_t changed = seed % 16 == 1 ? drop_or_double(data, frame, frames, seed, out, max)
                                          : change_one(data, frame, frames, seed, out, max);
    out[0] = data[0];
    memcpy(data, out, changed);
    return changed;
}
