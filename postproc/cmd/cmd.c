#include "cmd.h"

#include <limits.h>
#include <stdarg.h>

#include "symbols.h"
#include "utf8.h"

/* "memprof-report peaks" as the name in messages: argp takes it from argv[0]. */
static void parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    static char name[64];
    snprintf(name, sizeof name, "memprof-report %s", argv[0]);
    argv[0] = name;
    argp_parse(argp, argc, argv, flags, NULL, input);
}

void mpr_cmd_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    parse(argp, argc, argv, 0, input);
}

void mpr_cmd_parse_in_order(const struct argp *argp, int argc, char **argv, void *input)
{
    parse(argp, argc, argv, ARGP_IN_ORDER, input);
}

void mpr_cmd_say(const char *format, ...)
{
    char text[2 * PATH_MAX]; /* no allocation: it may be the lack of memory that is said */
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    mpr_bar_clear();
    fputs("memprof-report: ", stderr);
    mpr_utf8_escaped(stderr, text);
    fputc('\n', stderr);
}

void mpr_cmd_error(const struct mpr_error *error) { mpr_cmd_say("%s", error->text); }

void mpr_cmd_say_no_names(void)
{
    if (mpr_symbols_not_installed())
        mpr_cmd_say("calls of native code have no names; install libdw1 (elfutils) to get them");
    const char *why = mpr_symbols_not_fetched();
    if (!why) return;
    mpr_cmd_say("DEBUGINFOD_URLS: %s; no more debug files were asked for, so names may be missing. "
                "Unset it where there is no server, or give a slow one more seconds: "
                "DEBUGINFOD_TIMEOUT=60 DEBUGINFOD_MAXTIME=600",
                why);
}
