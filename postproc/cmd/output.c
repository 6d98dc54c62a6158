#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "alloc.h"
#include "cmd.h"
#include "file.h"
#include "utf8.h"

/* ---- options */

enum { MIN_WIDTH = 60, MAX_WIDTH = 99999 }; /* columns */

/* Returns 0 unless the text is a number of columns. */
static int columns(const char *text)
{
    uint64_t width;
    return text && mpr_parse_number(text, 1, MAX_WIDTH, &width) ? (int)width : 0;
}

static void set_width(void *value, const struct mpr_given *given)
{
    static_assert(MIN_WIDTH == 60, "as in the message");
    struct mpr_output *output = value;
    output->width = columns(given->text);
    if (output->width < MIN_WIDTH && strcmp(given->text, "full") != 0)
        mpr_option_invalid(given, "full, or at least 60");
}

static void add_plumbing(void *value, const struct mpr_given *given)
{
    struct mpr_output *output = value;
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(given->text, "re");
    while (file && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line && *line != '#')
            mpr_user_frames_hide(output->user_frames, mpr_arena_text(&output->patterns, line));
    }
    if (!file || ferror(file))
        argp_error(given->state, "--plumbing: cannot read %s: %s", given->text, strerror(errno));
    free(line);
    if (file) fclose(file);
}

static void set_frames(void *value, const struct mpr_given *given)
{
    struct mpr_output *output = value;
    const bool all = mpr_option_word(given) == 1;
    output->naming.user_frames = all ? NULL : output->user_frames;
}

static bool wall_clock;

bool mpr_output_clock(void) { return wall_clock; }

static void set_clock(void *value, const struct mpr_given *given)
{
    struct mpr_output *output = value;
    output->style.clock = wall_clock = mpr_option_word(given) == 1;
}

static void set_format(void *value, const struct mpr_given *given)
{
    static const struct mpr_renderer *const in_order[] = { &mpr_render_text, &mpr_render_json,
                                                           &mpr_render_csv, &mpr_render_folded };
    struct mpr_output *output = value;
    output->renderer = in_order[mpr_option_word(given)];
    if (output->renderer == &mpr_render_folded && !output->has_stacks)
        argp_error(given->state,
                   "--%s=folded is not available: this report has neither call stacks nor ranges",
                   given->option->name);
}

void mpr_set_output_path(void *value, const struct mpr_given *given)
{
    *(const char **)value = mpr_output_path(given->text);
}

const struct mpr_option mpr_output_options[] = {
    { "format", 'f', "text|json|csv|folded",
      "text (default), json, csv or folded (for flame graphs: one line per call stack or path of "
      "ranges, a;b;c bytes)",
      .set = set_format },
    { "output", 'o', "FILE", "write to FILE instead of standard output (-)",
      MPR_TO(mpr_set_output_path, const char *, struct mpr_output, path) },
    { "color", 'c', "auto|always|never", "auto (default), always or never",
      MPR_TO_WORD(enum mpr_output_color, struct mpr_output, color) },
    { "top", 't', "N",
      "at most N lines of each table (default: text 20, timeline 12, summary 5; json and csv all)",
      MPR_TO_NUMBER(struct mpr_output, style.top, 1, SIZE_MAX) },
    { "width", 0, "N",
      "columns of a line, to which paths are shortened, or full (default: COLUMNS, else the terminal's "
      "width, else full)",
      .set = set_width },
    { "clock", 0, "offset|wall",
      "offset (default): text shows times since the start of the process; wall: local clock times",
      .set = set_clock },
    { "frames", 0, "telling|all",
      "telling (default): show a call stack by the innermost call in the program's own code and its "
      "caller; all: show each whole call stack",
      .set = set_frames },
    { "unfold", 0, NULL,
      "do not group lines whose paths differ only in a number (default: layers.{0..15})",
      MPR_TO_FLAG(struct mpr_output, naming.unfold) },
    { "plumbing", 0, "FILE",
      "hide the calls that FILE lists, one pattern per line, such as my_alloc or * (glue.c:*",
      .set = add_plumbing },
    { 0 },
};

struct mpr_args mpr_args_default(void)
{
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    return (struct mpr_args){ .output = { .renderer = &mpr_render_text,
                                          .width = MPR_WIDTH_AUTO,
                                          .user_frames = user_frames,
                                          .naming = { .user_frames = user_frames } } };
}

void mpr_output_free(struct mpr_output *output)
{
    if (output->user_frames) mpr_user_frames_free(output->user_frames);
    mpr_arena_free(&output->patterns);
}

/* ---- files */

const char *mpr_output_path(const char *path) { return strcmp(path, "-") == 0 ? NULL : path; }

static int fail(const struct mpr_destination *d, int error)
{
    mpr_cmd_say("%s: cannot write: %s", d->path ? d->path : "standard output",
                mpr_file_part_error_text(error));
    return -1;
}

/* The stream gets its own descriptor, because the atomic file closes its own. */
static FILE *open_atomic(struct mpr_destination *d)
{
    if (mpr_atomic_open_path(&d->atomic, d->path) != 0) return NULL;
    const int fd = fcntl(d->atomic.fd, F_DUPFD_CLOEXEC, 3);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file) return file;
    const int error = errno;
    if (fd >= 0) close(fd);
    mpr_atomic_close(&d->atomic);
    errno = error;
    return NULL;
}

int mpr_destination_open(struct mpr_destination *d, const char *path)
{
    *d = (struct mpr_destination){ .path = path ? mpr_output_path(path) : NULL, .atomic.fd = -1 };
    if (!d->path) d->file = stdout;
    else if (mpr_atomic_in_place(d->path)) d->file = fopen(d->path, "we");
    else d->file = open_atomic(d);
    return d->file ? 0 : fail(d, errno);
}

int mpr_destination_publish(struct mpr_destination *d)
{
    if (ferror(d->file) | fflush(d->file)) return -1;
    return d->atomic.fd >= 0 ? mpr_atomic_commit(&d->atomic) : 0;
}

int mpr_destination_close(struct mpr_destination *d, bool publish)
{
    int error = (ferror(d->file) | fflush(d->file)) ? errno : 0;
    if (!error && publish && mpr_destination_publish(d) != 0) error = errno;
    mpr_atomic_close(&d->atomic);
    if (d->file != stdout && fclose(d->file) != 0 && !error) error = errno;
    return error ? fail(d, error) : 0;
}

int mpr_output_open(struct mpr_output *output)
{
    if (mpr_destination_open(&output->to, output->path) != 0) return -1;
    const int fd = fileno(output->to.file);
    const bool terminal = isatty(fd);
    struct winsize size;
    int width = output->width;
    /* Lines for a file or another program are whole unless COLUMNS is set. */
    if (width == MPR_WIDTH_AUTO) width = columns(getenv("COLUMNS"));
    if (!width && output->width == MPR_WIDTH_AUTO && terminal && ioctl(fd, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    output->style.width = width;
    output->style.naming = &output->naming;
    output->style.color = output->color == MPR_COLOR_ALWAYS ||
                          (output->color == MPR_COLOR_AUTO && terminal && !getenv("NO_COLOR"));
    return 0;
}

int mpr_output_close(struct mpr_output *output) { return mpr_destination_close(&output->to, true); }

/* ---- rendering */

/* Text for people has the characters of their locale, also in a file; data for tools is UTF-8. */
static bool is_ascii(const struct mpr_output *output)
{
    return output->renderer == &mpr_render_text && !output->for_tools &&
           strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

/* Returns the rendered result in the characters of the locale.  The caller frees it. */
static char *rendered(const struct mpr_output *output, mpr_render_result *render,
                      const void *result)
{
    const bool ascii = is_ascii(output);
    char *text = NULL, *plain = NULL;
    size_t bytes;
    FILE *memory = mpr_text_open(&text, &bytes);
    if (ascii) mpr_utf8_set_width(mpr_ascii_width);
    render(output->renderer, memory, result, &output->style);
    mpr_utf8_set_width(NULL);
    mpr_text_close(memory);
    if (!ascii) return text;
    memory = mpr_text_open(&plain, &bytes);
    mpr_ascii_write(memory, text);
    mpr_text_close(memory);
    free(text);
    return plain;
}

int mpr_output_report(struct mpr_output *output, mpr_render_result *render, const void *result,
                      bool incomplete)
{
    if (mpr_output_open(output) != 0) return MPR_EXIT_FAILURE;
    if (is_ascii(output)) {
        char *text = rendered(output, render, result);
        fputs(text, output->to.file);
        free(text);
    } else render(output->renderer, output->to.file, result, &output->style);
    if (mpr_output_close(output) != 0) return MPR_EXIT_FAILURE;
    return incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
}

void mpr_output_begin(const struct mpr_output *output, struct mpr_document *doc)
{
    *doc = (struct mpr_document){ .naming = &output->naming,
                                  .top = output->style.top,
                                  .clock = output->style.clock };
    /* Widths of texts in the document are those of the characters that will be printed. */
    if (is_ascii(output)) mpr_utf8_set_width(mpr_ascii_width);
}

static void render_document(const struct mpr_renderer *renderer, FILE *out, const void *doc,
                            const struct mpr_style *style)
{
    renderer->document(out, doc, style);
}

int mpr_output_document(struct mpr_output *output, struct mpr_document *doc, bool incomplete)
{
    mpr_utf8_set_width(NULL);
    const int status = mpr_output_report(output, render_document, doc, incomplete);
    mpr_doc_free(doc);
    return status;
}

char *mpr_output_text(const struct mpr_output *output, struct mpr_document *doc)
{
    mpr_utf8_set_width(NULL);
    char *text = rendered(output, render_document, doc);
    mpr_doc_free(doc);
    return text;
}
