/* `range_names distinct N`: N different range names, and a block of 100 bytes in each.
 * `range_names odd`: unusual names that a reader might not handle, and a block of 100 bytes in
 * each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

static void *volatile sink;

static void one(const char *name)
{
    range_push(name);
    sink = malloc(100);
    range_pop();
}

int main(int argc, char **argv)
{
    static char megabyte[1 << 20];
    ranges_init();
    if (argc == 3 && !strcmp(argv[1], "distinct"))
        for (long i = 0; i < atol(argv[2]); i++) {
            char name[64];
            snprintf(name, sizeof name, "range %ld", i);
            one(name);
        }
    if (!strcmp(argv[1], "odd")) {
        memset(megabyte, 'x', sizeof megabyte - 1);
        one(megabyte);
        one("");
        one("</script><script>alert(1)</script>");
        one("tab\tnewline\nbell\aescape\033[31m");
        one("quote\"backslash\\");
        one("broken \xff\xc3 utf-8");
        one("whole \xc3\xa9 utf-8");
    }
    return 0;
}
