// cause: growth
// owner: handle_request|parse_header
// change: free|keeps
// source: the kind of nginx modules
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void work(void) { usleep(20000); }

__attribute__((noinline)) static char *parse_header(int n)
{
    char *copy = malloc(256 << 10);
    memset(copy, n, 256 << 10);
    return copy;
}

__attribute__((noinline)) static void handle_request(int n)
{
    char *body = calloc(1, 1 << 20), *header = parse_header(n);
    if (n % 7 == 0) free(header); /* the other requests return early */
    free(body);
}

int main(void)
{
    for (int n = 0; n < 120; n++) {
        handle_request(n);
        work();
    }
    printf("{\"bytes\": [%d, %d]}\n", 102 * (256 << 10), 256 << 10);
    return 0;
}
