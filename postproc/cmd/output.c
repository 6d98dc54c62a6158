/* Options of every report. */
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "alloc.h"
#include "ascii.h"
#include "cmd.h"
#include "utf8.h"

enum { FEWEST = 60 }; /* columns of a line in which a table says something */
enum { KEY_WIDTH = 512, KEY_FRAMES, KEY_UNFOLD, KEY_PLUMBING, KEY_CLOCK };

static const struct argp_option options[] = {
    { "format", 'f', "text|json|csv|folded", 0,
      "text (default), json, csv or folded (a;b;c bytes: call stacks, or ranges, for flame graphs)",
      10 },
    { "output", 'o', "FILE", 0, "write there instead of standard output (-)", 10 },
    { "color", 'c', "auto|always|never", 0, "auto (default), always or never", 10 },
    { "top", 't', "N", 0,
      "at most N lines of each table (text: 20, in timeline 12 and in the summary 5; json and csv: all)",
      10 },
    { "width", KEY_WIDTH, "N", 0,
      "columns of a line, or full: paths are cut to fit (default: COLUMNS, else the terminal's; full elsewhere)",
      10 },
    { "clock", KEY_CLOCK, "offset|wall", 0,
      "offset (default): times are since the process's start; wall: of the clock then, in local time (text only)",
      10 },
    { "frames", KEY_FRAMES, "telling|all", 0,
      "telling (default): a call stack is shown by the innermost call in the program's own code and its caller; "
      "all: whole, each apart",
      10 },
    { "unfold", KEY_UNFOLD, NULL, 0,
      "lines whose paths differ in a number stay apart (default: layers.{0..15})", 10 },
    { "plumbing", KEY_PLUMBING, "FILE", 0,
      "calls that are nobody's own code, a pattern a line, such as my_alloc or * (glue.c:*", 10 },
    { 0 },
};

/* A number of columns; 0: none is given. */
static int columns(const char *text)
{
    char *end;
    const unsigned long width = text ? strtoul(text, &end, 10) : 0;
    return width && !*end && *text != '-' && width < 100000 ? (int)width : 0;
}

static void set_width(struct mpr_output *output, const char *arg, struct argp_state *state)
{
    output->width = columns(arg);
    if (output->width < FEWEST && strcmp(arg, "full") != 0)
        argp_error(state, "--width=%s: %d columns or more are wanted, or full", arg, FEWEST);
}

/* Read once; what it holds lasts as long as the process. */
static void add_plumbing(struct mpr_telling *telling, const char *path, struct argp_state *state)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    if (!file) argp_error(state, "--plumbing=%s: cannot read: %s", path, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line && *line != '#') mpr_telling_add(telling, mpr_text_copy(line));
    }
    if (ferror(file)) argp_error(state, "--plumbing=%s: cannot read: %s", path, strerror(errno));
    free(line);
    fclose(file);
}

static void set_frames(struct mpr_output *output, const char *arg, struct argp_state *state)
{
    if (strcmp(arg, "all") == 0) output->naming.telling = NULL;
    else if (strcmp(arg, "telling") == 0) output->naming.telling = output->telling;
    else argp_error(state, "--frames=%s: telling or all is wanted", arg);
}

static bool clock_wanted;

bool mpr_output_clock(void) { return clock_wanted; }

static void set_clock(struct mpr_output *output, const char *arg, struct argp_state *state)
{
    output->style.clock = clock_wanted = strcmp(arg, "wall") == 0;
    if (!output->style.clock && strcmp(arg, "offset") != 0)
        argp_error(state, "--clock=%s: offset or wall is wanted", arg);
}

static void set_color(struct mpr_output *output, const char *arg, struct argp_state *state)
{
    if (strcmp(arg, "auto") == 0) output->color = MPR_COLOR_AUTO;
    else if (strcmp(arg, "always") == 0) output->color = MPR_COLOR_ALWAYS;
    else if (strcmp(arg, "never") == 0) output->color = MPR_COLOR_NEVER;
    else argp_error(state, "--color=%s: auto, always or never is wanted", arg);
}

static void set_format(struct mpr_output *output, const char *arg, struct argp_state *state)
{
    output->renderer = mpr_render_find(arg);
    if (!output->renderer)
        argp_error(state, "--format=%s: text, json, csv or folded is wanted", arg);
    if (output->renderer == &mpr_render_folded && !output->has_stacks)
        argp_error(state, "--format=folded: no row of this report has a call stack or ranges");
}

static void set_top(struct mpr_output *output, const char *arg, struct argp_state *state)
{
    char *end;
    errno = 0;
    const unsigned long long top = strtoull(arg, &end, 10);
    if (errno || end == arg || *end || !top || *arg == '-')
        argp_error(state, "--top=%s: a number from 1 is wanted", arg);
    output->style.top = top;
}

const char *mpr_output_path(const char *arg) { return strcmp(arg, "-") == 0 ? NULL : arg; }

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct mpr_output *output = state->input;
    switch (key) {
    case 'f': set_format(output, arg, state); return 0;
    case 'o': output->path = mpr_output_path(arg); return 0;
    case 'c': set_color(output, arg, state); return 0;
    case 't': set_top(output, arg, state); return 0;
    case KEY_WIDTH: set_width(output, arg, state); return 0;
    case KEY_CLOCK: set_clock(output, arg, state); return 0;
    case KEY_FRAMES: set_frames(output, arg, state); return 0;
    case KEY_UNFOLD: output->naming.unfold = true; return 0;
    case KEY_PLUMBING: add_plumbing(output->telling, arg, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp mpr_output_argp = { .options = options, .parser = parse };

struct mpr_output mpr_output_default(void)
{
    struct mpr_telling *telling = mpr_telling_new();
    return (struct mpr_output){ .renderer = &mpr_render_text,
                                .width = MPR_WIDTH_AUTO,
                                .telling = telling,
                                .naming = { .telling = telling } };
}

/* What goes to a file or another program is whole, unless somebody says otherwise. */
static int line_columns(FILE *file)
{
    struct winsize size;
    const int told = columns(getenv("COLUMNS"));
    if (told) return told;
    return isatty(fileno(file)) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int mpr_output_open(struct mpr_output *output)
{
    if (mpr_destination_open(&output->to, output->path) != 0) return -1;
    FILE *file = output->to.file;
    const bool terminal = isatty(fileno(file)) && !getenv("NO_COLOR");
    if (output->width == MPR_WIDTH_AUTO) output->style.width = line_columns(file);
    else output->style.width = output->width;
    output->style.naming = &output->naming;
    output->style.color =
        output->color == MPR_COLOR_ALWAYS || (output->color == MPR_COLOR_AUTO && terminal);
    return 0;
}

int mpr_output_close(struct mpr_output *output) { return mpr_destination_close(&output->to, true); }

/* Text for people is in the characters of their locale, whatever it is written to; data for tools
 * is UTF-8. */
static bool wants_ascii(const struct mpr_output *output)
{
    return output->renderer == &mpr_render_text && !output->for_tools &&
           strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

/* In the characters of who reads; of the caller. */
static char *rendered(const struct mpr_output *output, mpr_render_result *render,
                      const void *result)
{
    const bool ascii = wants_ascii(output);
    char *text = NULL, *plain = NULL;
    size_t bytes;
    FILE *memory = mpr_text_open(&text, &bytes);
    if (ascii) mpr_utf8_shown_as(mpr_ascii_width);
    render(output->renderer, memory, result, &output->style);
    mpr_utf8_shown_as(NULL);
    mpr_text_close(memory);
    if (!ascii) return text;
    memory = mpr_text_open(&plain, &bytes);
    mpr_ascii_write(memory, text);
    mpr_text_close(memory);
    free(text);
    return plain;
}

static void render_ascii(const struct mpr_output *output, mpr_render_result *render,
                         const void *result)
{
    char *text = rendered(output, render, result);
    fputs(text, output->to.file);
    free(text);
}

int mpr_output_report(struct mpr_output *output, mpr_render_result *render, const void *result,
                      bool incomplete)
{
    if (mpr_output_open(output) != 0) return MPR_EXIT_FAILURE;
    if (wants_ascii(output)) render_ascii(output, render, result);
    else render(output->renderer, output->to.file, result, &output->style);
    if (mpr_output_close(output) != 0) return MPR_EXIT_FAILURE;
    return incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
}

static void render_document(const struct mpr_renderer *renderer, FILE *out, const void *doc,
                            const struct mpr_style *style)
{
    renderer->document(out, doc, style);
}

/* In place: a description may hold the document's address. */
static void begin(struct mpr_document *doc, const struct mpr_output *output,
                  mpr_describe_result *describe, const void *result)
{
    *doc = (struct mpr_document){ .naming = &output->naming,
                                  .top = output->style.top,
                                  .clock = output->style.clock };
    if (wants_ascii(output)) mpr_utf8_shown_as(mpr_ascii_width);
    describe(doc, result);
    mpr_utf8_shown_as(NULL);
}

char *mpr_output_text(const struct mpr_output *output, mpr_describe_result *describe,
                      const void *result)
{
    struct mpr_document doc;
    begin(&doc, output, describe, result);
    char *text = rendered(output, render_document, &doc);
    mpr_doc_free(&doc);
    return text;
}

int mpr_output_document(struct mpr_output *output, mpr_describe_result *describe,
                        const void *result, bool incomplete)
{
    struct mpr_document doc;
    begin(&doc, output, describe, result);
    const int status = mpr_output_report(output, render_document, &doc, incomplete);
    mpr_doc_free(&doc);
    return status;
}
