/* Options of `memprof run` that set variables of the library. */
#ifndef MPL_SETTINGS_H
#define MPL_SETTINGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "child.h"

enum { MPL_SETTINGS = 11 };

/* NULL if not given */
struct mpl_settings {
    const char *value[MPL_SETTINGS];
};

/* Its input is a struct mpl_settings. A value that the library would not accept is a usage error
 * that names the option, because the library knows only the variable. */
extern const struct argp mpl_settings_argp;

/* Returns true if --cuda or MEMPROF_CUDA selects this mode ("interpose", "off"). */
bool mpl_settings_cuda(const struct mpl_settings *settings, const char *mode);

/* Returns how much of a log is kept according to --keep or MEMPROF_KEEP, or NULL for all of it. */
const char *mpl_settings_keep(const struct mpl_settings *settings);

/* Returns the run's ID given by --run-id, or NULL. */
const char *mpl_settings_run(const struct mpl_settings *settings);

/* Writes the variables of the given options to `out`, which must have space for MPL_SETTINGS.
 * Returns their number. */
size_t mpl_settings_variables(const struct mpl_settings *settings, struct mpl_variable *out);

#endif
