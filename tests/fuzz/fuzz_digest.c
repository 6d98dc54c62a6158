/* Reads an arbitrary SQLite database as a digest, and runs `ranks` on it. */
#include "cmd.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char command[] = "ranks", option[] = "-o", nothing[] = "/dev/null";
    char *argv[] = { command, option, nothing, (char *)fuzz_file("log.zst.digest", data, size),
                     NULL };
    mpr_cmd_ranks(4, argv);
    return 0;
}
