/* A library that is loaded and unloaded. Its constructor allocates a block that its destructor
 * frees. */
#include <stdlib.h>

static void *volatile kept[8];

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < 8; i++) kept[i] = malloc(3000);
}

__attribute__((destructor)) static void end(void)
{
    for (int i = 0; i < 8; i++) free(kept[i]);
}

void *plugin_take(size_t size);
void *plugin_take(size_t size) { return malloc(size); }
