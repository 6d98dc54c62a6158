#include "cmd.h"


/* "memprof-report peaks" as the name in messages: argp takes it from argv[0]. */
void mpr_cmd_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static char name[64];
    snprintf(name, sizeof name, "memprof-report %s", argv[0]);
    argv[0] = name;
    argp_parse(argp, argc, argv, 0, NULL, input);
}

void mpr_cmd_error(const struct mpr_error *error)
{
    mpr_bar_clear();
    fprintf(stderr, "memprof-report: %s\n", error->text);
}
