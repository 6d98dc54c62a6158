/* A library that attach_target.c opens: its function keeps 200 blocks of 7000 bytes. */
#include <stdlib.h>
#include <string.h>

static void *block[200];

__attribute__((visibility("default"))) void plugin_work(void);
void plugin_work(void)
{
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        block[i] = malloc(7000);
        if (block[i]) memset(block[i], 1, 7000);
    }
}
