#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpf/expected.h"
#include "mpf/keep.h"
#include "mpf/run_id.h"
#include "mpf/window.h"

/* ---- values that the library accepts */

static bool is_any(const char *text, const char *words)
{
    (void)words;
    return text != NULL;
}

static bool is_level(const char *text, const char *words)
{
    (void)words;
    text += *text == '-';
    return *text >= '1' && *text <= '9' && !text[1];
}

static bool read_size(const char *text, uint64_t *bytes)
{
    static const char letters[] = "KMGT";
    char *unit;
    errno = 0;
    const unsigned long long number = strtoull(text, &unit, 10);
    if (errno || *text < '0' || *text > '9') return false;
    const char *letter = *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
    if (*unit && (!letter || (unit[1] && strcmp(unit + 1, "iB") != 0))) return false;
    const int shift = letter ? 10 * (int)(letter - letters + 1) : 0;
    *bytes = number << shift;
    return number <= ULLONG_MAX >> shift;
}

static bool is_size(const char *text, const char *words)
{
    uint64_t bytes;
    (void)words;
    return read_size(text, &bytes);
}

static bool is_run(const char *text, const char *words)
{
    (void)words;
    return *text && strlen(text) < MPF_RUN_ID;
}

static bool is_keep(const char *text, const char *words)
{
    struct mpf_keep keep;
    (void)words;
    return mpf_keep_read(text, &keep);
}

static bool is_window(const char *text, const char *words)
{
    struct mpf_window window;
    (void)words;
    return mpf_window_read(text, &window);
}

/* Returns true if the text is one of the words between the bars. */
static bool is_word(const char *text, const char *words)
{
    const size_t length = strlen(text);
    for (; *words; words += strcspn(words, "|"), words += *words == '|')
        if (length && length == strcspn(words, "|") && strncmp(text, words, length) == 0)
            return true;
    return false;
}

/* Parses "word:SIZE", where SIZE must not be 0. */
static bool is_sized(const char *text, const char *word, uint64_t *bytes)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && text[length] == ':' &&
           read_size(text + length + 1, bytes) && *bytes;
}

/* One of the words, or "sample" or "large" followed by a size. */
static bool is_host(const char *text, const char *words)
{
    uint64_t bytes;
    return is_word(text, words) || is_sized(text, "sample", &bytes) ||
           is_sized(text, "large", &bytes);
}

/* One of the words, or "sample" followed by a size. */
static bool is_stacks(const char *text, const char *words)
{
    uint64_t mean;
    return is_word(text, words) || is_sized(text, "sample", &mean);
}

/* One of the words, or "small" followed by a size. */
static bool is_python(const char *text, const char *words)
{
    uint64_t mean;
    return is_word(text, words) || (is_sized(text, "small", &mean) && mean <= MPF_PYTHON_MEAN_MAX);
}

/* ---- the options */

#define HOST   "all|sample|large|off"
#define STACKS "sample|large|all|off"
#define PYTHON "on|small|off"
#define TORCH  "on|ops|off"

#define CUDA "cupti|interpose|off"

enum { KEY = 512 }; /* key of the first option; the others follow it */
enum { OF_RUN = MPL_SETTINGS - 3, OF_KEEP, OF_CUDA };

// clang-format off
static const struct argp_option options[MPL_SETTINGS + 1] = {
    { "host", KEY, HOST, 0,
      "Which blocks of malloc to record: every block (all, the default); a sample with call stacks, "
      "one per 512 KiB or SIZE (sample, sample:SIZE); those of at least 4 KiB or SIZE (large, "
      "large:SIZE); or none (off). With sample and large, totals of the other blocks are also recorded", 0 },
    { "stacks", KEY + 1, STACKS, 0,
      "Which host blocks have call stacks: those of at least 1 MiB and a sample of the smaller ones, one "
      "per 512 KiB or SIZE (sample, the default, sample:SIZE), only the large ones (large), every block "
      "(all), or none (off)", 0 },
    { "python", KEY + 2, PYTHON, 0, "Record call stacks of Python (on, the default), also for a sample of small objects, one per 512 "
      "KiB or SIZE (small, small:SIZE), or none (off)", 0 },
    { "torch-ranges", KEY + 3, TORCH, 0,
      "Record PyTorch's own ranges (on, the default), also a range for every operator (ops), or none "
      "(off)", 0 },
    { "program", KEY + 4, "GLOB", 0,
      "Record only programs whose file name, or the name of a link to it, matches GLOB", 0 },
    { "min-rss", KEY + 5, "SIZE", 0,
      "Keep no log of a child process whose resident memory never reached SIZE (default: 16M)", 0 },
    { "level", KEY + 6, "N", 0, "Compression level of zstd, 1 to 9 or -1 to -9 (default: -1)", 0 },
    { "window", KEY + 7, "WHEN", 0,
      "Record in full only while a window is open: profiler (cudaProfilerStart to cudaProfilerStop), "
      "range:NAME[:N[:M]], delay:TIME[,duration:TIME], duration:TIME or signal:USR1|USR2. Sums are "
      "exact at all times", 0 },
    { "run-id", KEY + 8, "ID", 0,
      "Id of the run, the same for all launchers of one job (default: the id of the job, or a random "
      "id)", 0 },
    { "keep", KEY + 9, "SIZE|TIME", 0,
      "How much of each log to keep: a total size (2G), or a time for which the newest events are "
      "complete (30min). Older events are thinned (default: everything)", 0 },
    { "cuda", KEY + 10, CUDA, 0,
      "How to observe CUDA allocations: through CUPTI (cupti, the default), by overriding the driver's "
      "functions, which leaves CUPTI to other tools (interpose), or not at all (off)", 0 },
    { 0 },
};

/* In the order of the options. */
static const struct {
    const char *variable, *expected;
    bool (*is_valid)(const char *text, const char *words);
} setting[MPL_SETTINGS] = {
    { "MEMPROF_HOST", MPF_EXPECTED_HOST, is_host },
    { "MEMPROF_STACKS", MPF_EXPECTED_STACKS, is_stacks },
    { "MEMPROF_PYTHON", MPF_EXPECTED_PYTHON, is_python },
    { "MEMPROF_TORCH_RANGES", MPF_EXPECTED_TORCH, is_word },
    { "MEMPROF_PROGRAM", "", is_any },
    { "MEMPROF_MIN_RSS", MPF_EXPECTED_SIZE, is_size },
    { "MEMPROF_LEVEL", MPF_EXPECTED_LEVEL, is_level },
    { "MEMPROF_WINDOW", MPF_EXPECTED_WINDOW, is_window },
    [OF_RUN] = { "MEMPROF_RUN", MPF_EXPECTED_RUN, is_run },
    [OF_KEEP] = { "MEMPROF_KEEP", MPF_EXPECTED_KEEP, is_keep },
    [OF_CUDA] = { "MEMPROF_CUDA", MPF_EXPECTED_CUDA, is_word },
};
// clang-format on

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct mpl_settings *settings = state->input;
    const int i = key - KEY;
    if (i < 0 || i >= MPL_SETTINGS) return ARGP_ERR_UNKNOWN;
    if (!setting[i].is_valid(arg, options[i].arg))
        argp_error(state, "invalid --%s '%s': expected %s", options[i].name, arg,
                   setting[i].expected);
    settings->value[i] = arg;
    return 0;
}

const struct argp mpl_settings_argp = { .options = options, .parser = parse };

bool mpl_settings_cuda(const struct mpl_settings *settings, const char *mode)
{
    const char *given = settings->value[OF_CUDA], *set = getenv("MEMPROF_CUDA");
    return strcmp(given ? given : set ? set : "", mode) == 0;
}

const char *mpl_settings_keep(const struct mpl_settings *settings)
{
    struct mpf_keep keep;
    const char *given = settings->value[OF_KEEP], *set = getenv("MEMPROF_KEEP");
    if (given) return given;
    return set && mpf_keep_read(set, &keep) ? set : NULL;
}

const char *mpl_settings_run(const struct mpl_settings *settings)
{
    return settings->value[OF_RUN];
}

size_t mpl_settings_variables(const struct mpl_settings *settings, struct mpl_variable *out)
{
    size_t count = 0;
    for (size_t i = 0; i < MPL_SETTINGS; i++)
        if (settings->value[i])
            out[count++] = (struct mpl_variable){ setting[i].variable, settings->value[i] };
    return count;
}
