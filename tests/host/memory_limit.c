/* `memory_limit as|data MIB`: sets the limit (RLIMIT_AS or RLIMIT_DATA) to the present use
 * plus MIB, allocates blocks of 1 MiB until malloc fails, and prints the number of blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static unsigned long kib(const char *key)
{
    char line[256];
    unsigned long n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) n = strtoul(line + strlen(key), NULL, 10);
    if (f) fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const int as = !strcmp(argv[1], "as");
    const unsigned long bytes =
        (kib(as ? "VmSize:" : "VmData:") << 10) + (strtoul(argv[2], NULL, 10) << 20);
    const struct rlimit limit = { bytes, bytes };
    if (setrlimit(as ? RLIMIT_AS : RLIMIT_DATA, &limit) != 0) return 1;
    unsigned blocks = 0;
    for (void *volatile p; (p = malloc((size_t)1 << 20));) blocks++;
    printf("%u\n", blocks);
    return 0;
}
