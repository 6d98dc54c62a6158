#include "core/config.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/say.h"
#include "core/state.h"
#include "mpf/expected.h"
#include "mpf/keep.h"

struct mp_config mp_config;

const char *const mp_config_rank_names[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                             "SLURM_PROCID", NULL };

static void say_invalid(const char *name, const char *value, const char *expected)
{
    char line[512];
    struct mp_text t = MP_TEXT(line);
    mp_text_str(&t, "invalid ");
    mp_text_str(&t, name);
    mp_text_str(&t, " '");
    mp_text_str(&t, value);
    mp_say(line, "': expected ", expected, "; the default is used");
}

static const char *given; /* settings instead of the environment, or NULL */
static size_t given_bytes;

void mp_config_give(const char *variables, size_t bytes)
{
    given = variables;
    given_bytes = bytes;
}

/* Returns the value of a variable, or NULL. The texts are terminated. */
static const char *setting(const char *name)
{
    const size_t length = strlen(name);
    if (!given) return secure_getenv(name);
    for (const char *p = given; p < given + given_bytes; p += strlen(p) + 1)
        if (!strncmp(p, name, length) && p[length] == '=') return p + length + 1;
    return NULL;
}

static bool flag_of(const char *name, bool otherwise, const char *expected)
{
    const char *v = setting(name);
    if (!v || !*v) return otherwise;
    if (!strcmp(v, "0") || !strcmp(v, "no") || !strcmp(v, "off")) return false;
    if (!strcmp(v, "1") || !strcmp(v, "yes") || !strcmp(v, "on")) return true;
    say_invalid(name, v, expected);
    return otherwise;
}

static bool flag(const char *name, bool otherwise) { return flag_of(name, otherwise, "0 or 1"); }

/* Reads "512", "16M" or "2GiB". Returns false for other texts. */
static bool parse_size(const char *v, uint64_t *bytes)
{
    uint64_t n = 0;
    const char *p = v;
    for (; *p >= '0' && *p <= '9' && n < UINT64_MAX / 10 - 9; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    static const char units[] = "KMGT";
    const char *unit = p != v && *p ? strchr(units, *p & ~0x20) : NULL;
    const int shift = unit && *unit ? 10 * (int)(unit - units + 1) : 0;
    if (shift) p += p[1] == 'i' && p[2] == 'B' ? 3 : 1;
    if (p == v || *p || n > UINT64_MAX >> shift) return false;
    *bytes = n << shift;
    return true;
}

/* Returns true for the word, or the word, a colon and a size, which is stored in *bytes. */
static bool is_sized(const char *v, const char *word, uint64_t *bytes)
{
    const size_t letters = strlen(word);
    if (strncmp(v, word, letters) != 0) return false;
    return !v[letters] || (v[letters] == ':' && parse_size(v + letters + 1, bytes) && *bytes);
}

static enum mp_python_mode python(const char *name)
{
    const char *v = setting(name);
    mp_config.python_mean = MP_SAMPLE_MEAN;
    if (v && is_sized(v, "small", &mp_config.python_mean) &&
        mp_config.python_mean <= MPF_PYTHON_MEAN_MAX)
        return MP_PYTHON_SMALL;
    return flag_of(name, true, MPF_EXPECTED_PYTHON) ? MP_PYTHON_ON : MP_PYTHON_OFF;
}

static uint64_t size(const char *name, uint64_t otherwise)
{
    const char *v = setting(name);
    uint64_t bytes;
    if (!v || !*v) return otherwise;
    if (parse_size(v, &bytes)) return bytes;
    say_invalid(name, v, MPF_EXPECTED_SIZE);
    return otherwise;
}

/* Returns the index of the variable's value in `words`, which ends with NULL. */
static unsigned choice(const char *name, const char *const words[], unsigned otherwise,
                       const char *expected)
{
    const char *v = setting(name);
    if (!v || !*v) return otherwise;
    for (unsigned i = 0; words[i]; i++)
        if (!strcmp(v, words[i])) return i;
    say_invalid(name, v, expected);
    return otherwise;
}

static const char *const torch_ranges_words[] = {
    [MP_TORCH_ON] = "on", [MP_TORCH_OFF] = "off", [MP_TORCH_OPS] = "ops", NULL
};
static const char *const stacks_words[] = { [MP_STACKS_OFF] = "off",
                                            [MP_STACKS_LARGE] = "large",
                                            [MP_STACKS_SAMPLE] = "sample",
                                            [MP_STACKS_ALL] = "all",
                                            NULL };

static const char *const cuda_words[] = {
    [MP_CUDA_CUPTI] = "cupti", [MP_CUDA_INTERPOSE] = "interpose", [MP_CUDA_OFF] = "off", NULL
};

#define IS_WHOLE(words, last)                                                                      \
    static_assert(sizeof words / sizeof *words == (last) + 2, "a word for each, and NULL")
IS_WHOLE(torch_ranges_words, MP_TORCH_OPS);
IS_WHOLE(stacks_words, MP_STACKS_ALL);
IS_WHOLE(cuda_words, MP_CUDA_OFF);

/* The number of bytes that may follow the word after a colon, and its default. 0: no number may
 * follow. */
static const struct {
    const char *word;
    uint64_t bytes;
} host_words[] = { [MP_HOST_ALL] = { "all", 0 },
                   [MP_HOST_SAMPLE] = { "sample", MP_SAMPLE_MEAN },
                   [MP_HOST_LARGE] = { "large", MP_HOST_LARGE_BYTES },
                   [MP_HOST_OFF] = { "off", 0 } };
enum { HOST_WORDS = sizeof host_words / sizeof *host_words };

const char *mp_config_host_name(void) { return host_words[mp_config.host].word; }

/* "large", "large:64K", "sample:1M" */
static bool is_host(const char *v, unsigned word, uint64_t *bytes)
{
    *bytes = host_words[word].bytes;
    return *bytes ? is_sized(v, host_words[word].word, bytes) : !strcmp(v, host_words[word].word);
}

static void host(const char *name)
{
    const char *v = setting(name);
    mp_config.host = MP_HOST_ALL;
    if (!v || !*v) return;
    for (unsigned i = 0; i < HOST_WORDS; i++) {
        if (!is_host(v, i, &mp_config.host_bytes)) continue;
        mp_config.host = i;
        return;
    }
    say_invalid(name, v, MPF_EXPECTED_HOST);
}

/* "large", "sample:64K" */
static void stacks(const char *name)
{
    const char *v = setting(name);
    mp_config.stacks = MP_STACKS_SAMPLE;
    mp_config.stacks_mean = MP_SAMPLE_MEAN;
    mp_config.stacks_by_default = !v || !*v;
    if (v && is_sized(v, "sample", &mp_config.stacks_mean)) return;
    mp_config.stacks_mean = MP_SAMPLE_MEAN;
    mp_config.stacks = choice(name, stacks_words, MP_STACKS_SAMPLE, MPF_EXPECTED_STACKS);
}

const char *mp_config_stacks_name(void) { return stacks_words[mp_config.stacks]; }

/* Negative levels are zstd's fast ones. */
static int level(const char *name, int otherwise)
{
    const char *v = setting(name);
    if (!v || !*v) return otherwise;
    const bool fast = v[0] == '-';
    const int n = v[fast] >= '1' && v[fast] <= '9' ? v[fast] - '0' : 0;
    if (n && !v[fast + 1]) return fast ? -n : n;
    say_invalid(name, v, MPF_EXPECTED_LEVEL);
    return otherwise;
}

static void text(const char *name, char *out, size_t cap, const char *otherwise)
{
    const char *v = setting(name);
    if (!v || !*v) v = otherwise;
    if (strlen(v) >= cap) {
        say_invalid(name, v, "a shorter text");
        v = otherwise;
    }
    memcpy(out, v, strlen(v) + 1);
}

static void read_keep(const char *name)
{
    struct mpf_keep keep;
    text(name, mp_config.keep, sizeof mp_config.keep, "");
    if (!mp_config.keep[0] || mpf_keep_read(mp_config.keep, &keep)) return;
    say_invalid(name, mp_config.keep, MPF_EXPECTED_KEEP);
    mp_config.keep[0] = 0;
}

static void window(const char *name)
{
    text(name, mp_config.window_text, sizeof mp_config.window_text, "");
    if (!mp_config.window_text[0] || mpf_window_read(mp_config.window_text, &mp_config.window))
        return;
    say_invalid(name, mp_config.window_text, MPF_EXPECTED_WINDOW);
    mp_config.window_text[0] = 0;
}

void mp_config_read(void)
{
    mp_say_quiet(flag("MEMPROF_QUIET", false));
    mp_config.summary = flag("MEMPROF_SUMMARY", true);
    mp_config.python = python("MEMPROF_PYTHON");
    mp_config.torch_ranges =
        choice("MEMPROF_TORCH_RANGES", torch_ranges_words, MP_TORCH_ON, MPF_EXPECTED_TORCH);
    mp_config.cuda = choice("MEMPROF_CUDA", cuda_words, MP_CUDA_CUPTI, MPF_EXPECTED_CUDA);
    host("MEMPROF_HOST");
    stacks("MEMPROF_STACKS");
    mp_config.level = level("MEMPROF_LEVEL", -1);
    mp_config.min_rss = size("MEMPROF_MIN_RSS", (uint64_t)16 << 20);
    text("MEMPROF_RUN", mp_config.run, sizeof mp_config.run, "");
    read_keep("MEMPROF_KEEP");
    window("MEMPROF_WINDOW");
    mp_config.folded = flag("MEMPROF_FOLDER", false);
    text("MEMPROF_OUT", mp_config.out, sizeof mp_config.out, "memprof.%h.%p.zst");
    text("MEMPROF_PROGRAM", mp_config.program, sizeof mp_config.program, "");
    text("MEMPROF_JOURNAL_DIR", mp_config.journal_dir, sizeof mp_config.journal_dir, "");
    if (mp_config.journal_dir[0] && mp_config.journal_dir[0] != '/') {
        say_invalid("MEMPROF_JOURNAL_DIR", mp_config.journal_dir, "an absolute path");
        mp_config.journal_dir[0] = 0;
    }
}

bool mp_config_wants(const char *program, const char *executed)
{
    const char *glob = mp_config.program;
    return !*glob || fnmatch(glob, program, 0) == 0 || fnmatch(glob, executed, 0) == 0;
}

const char *mp_config_rank(void)
{
    for (const char *const *name = mp_config_rank_names; *name; name++) {
        const char *v = secure_getenv(*name);
        if (v && *v) return v;
    }
    return "";
}

const char *mp_config_host(void)
{
    static char name[256];
    if (gethostname(name, sizeof name - 1) < 0) return "localhost";
    return name;
}

/* Returns true if there are only dots after the last slash. */
static bool only_dots(const struct mp_text *t)
{
    size_t n = t->bytes;
    while (n && t->buf[n - 1] == '.') n--;
    return !n || t->buf[n - 1] == '/';
}

/* A value from outside must not lead to another folder: not by a slash, not as "..", and not by
 * being empty as the name of a folder. @next: the character after it. */
static void add_plain(struct mp_text *t, const char *value, char next)
{
    const bool begins = !t->bytes || t->buf[t->bytes - 1] == '/';
    if (!*value && begins && (!next || next == '/')) value = "_";
    for (; *value; value++)
        mp_text_bytes(t, *value == '/' || (*value == '.' && only_dots(t)) ? "_" : value, 1);
}

/* Expands %q{VAR} and returns the text after it. */
static const char *add_variable(struct mp_text *t, const char *p)
{
    const char *end = *p == '{' ? strchr(p, '}') : NULL;
    char name[128];
    if (!end || (size_t)(end - p) > sizeof name) {
        mp_text_str(t, "%q");
        return p;
    }
    memcpy(name, p + 1, (size_t)(end - p - 1));
    name[end - p - 1] = 0;
    const char *v = secure_getenv(name);
    add_plain(t, v ? v : "", end[1]);
    return end + 1;
}

/* Adds the current directory before a relative path. The directory may be deleted or outside of the
 * root. (getcwd allocates in this case.) */
static int add_folder(struct mp_text *t)
{
    const long n = mp_sys3(SYS_getcwd, (long)t->buf, (long)t->cap, 0);
    if (n < 0 || t->buf[0] != '/') return n < 0 ? (int)n : -ENOENT;
    t->bytes = strlen(t->buf);
    if (t->buf[t->bytes - 1] != '/') mp_text_str(t, "/");
    return 0;
}

int mp_config_path(char *out, size_t cap)
{
    struct mp_text t = { out, cap, 0, false };
    const int error = mp_config.out[0] != '/' ? add_folder(&t) : 0;
    for (const char *p = mp_config.out; *p;) {
        if (*p != '%' || !p[1]) {
            mp_text_bytes(&t, p++, 1);
            continue;
        }
        switch (p[1]) {
        case 'h': add_plain(&t, mp_config_host(), p[2]); break;
        case 'p': mp_text_u64(&t, (uint64_t)mp_process->pid); break;
        case 'e': add_plain(&t, mp_sys_executed_name(), p[2]); break;
        case 'r': add_plain(&t, mp_config_rank(), p[2]); break;
        case 't': mp_text_u64(&t, mp_process->start.real / 1000000000u); break;
        case 'q': p = add_variable(&t, p + 2); continue;
        case '%': mp_text_str(&t, "%"); break;
        default: mp_text_bytes(&t, p, 2); break;
        }
        p += 2;
    }
    return error ? error : t.full ? -ENAMETOOLONG : 0;
}
