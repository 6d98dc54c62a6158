/* `stdin_commands`: executes one command per line of standard input and prints a dot after
 * each.
 * take NAME BYTES: allocates a block in a range of that name and keeps it.
 * open NAME: opens a range and leaves it open.
 * step: opens and closes a range "step". */
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
