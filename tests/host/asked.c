/* `asked`: does what it is told on standard input, a line each, and prints a dot when it has.
 * take NAME BYTES: in a range of that name a block that is kept; open NAME: a range that stays
 * open; step: a range of that name, opened and closed */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges.h"

static void *volatile kept;

int main(void)
{
    char line[256], name[64];
    size_t bytes;
    ranges_init();
    setvbuf(stdin, malloc(BUFSIZ), _IOFBF, BUFSIZ);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "take %63s %zu", name, &bytes) == 2) {
            range_push(name);
            kept = malloc(bytes);
            range_pop();
        } else if (sscanf(line, "open %63s", name) == 1) range_push(name);
        else if (!strncmp(line, "step", 4)) {
            range_push("step");
            range_pop();
        } else return 2;
        if (write(1, ".", 1) != 1) return 1;
    }
    return 0;
}
