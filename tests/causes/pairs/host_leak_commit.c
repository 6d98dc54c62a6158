// changed: a commit returns early and skips the free
// cause: growth
// owner: handle_request|parse_header
// change: free|keeps
// larger: after
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUESTS = 200, BODY = 2 << 20, HEADER = 1 << 20 };

__attribute__((noinline)) static char *parse_header(int n)
{
    return memset(malloc(HEADER), n, HEADER);
}

__attribute__((noinline)) static void handle_request(int n, int returns_early)
{
    char *body = calloc(1, BODY), *header = parse_header(n);
    if (!returns_early || n % 4 == 0) free(header);
    free(body);
}

int main(int argc, char **argv)
{
    const int returns_early = argc > 1 && strcmp(argv[1], "after") == 0;
    for (int n = 0; n < REQUESTS; n++) {
        handle_request(n, returns_early);
        usleep(10000);
    }
    printf("{\"bytes\": [%d, %d]}\n", REQUESTS * 3 / 4 * HEADER, HEADER);
    return 0;
}
