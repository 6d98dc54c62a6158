/* Options of `memprof run` that are variables of the library's: its words and theirs. */
#ifndef MPL_SETTINGS_H
#define MPL_SETTINGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "child.h"

enum { MPL_SETTINGS = 11 };

/* NULL: not given */
struct mpl_settings {
    const char *value[MPL_SETTINGS];
};

/* Its input is a struct mpl_settings. A value that the library would not accept is a usage error
 * that names the option, because the library knows only the variable. */
extern const struct argp mpl_settings_argp;

/* Is this how CUDA is to be recorded ("interpose", "off"), by --cuda or MEMPROF_CUDA? */
bool mpl_settings_cuda(const struct mpl_settings *settings, const char *mode);

/* How much of a log is to be kept, by --keep or MEMPROF_KEEP; NULL: all. */
const char *mpl_settings_keep(const struct mpl_settings *settings);

/* The run's id, by --run-id; NULL: not given. */
const char *mpl_settings_run(const struct mpl_settings *settings);

/* Writes the variables of what was given to `out`, which has room for MPL_SETTINGS.  How many. */
size_t mpl_settings_variables(const struct mpl_settings *settings, struct mpl_variable *out);

#endif
