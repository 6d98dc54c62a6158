/* C23's sized frees, as glibc has them since 2.43. */
#include <stddef.h>
#include <stdlib.h>

void free_sized(void *p, size_t bytes);
void free_aligned_sized(void *p, size_t alignment, size_t bytes);

void free_sized(void *p, size_t bytes)
{
    (void)bytes;
    free(p);
}

void free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    free(p);
}
