// cause: none
// source: a healthy program
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *ring[64];

int main(void)
{
    for (int n = 0; n < 400; n++) {
        free(ring[n % 64]);
        ring[n % 64] = memset(malloc(200 << 10), 1, 200 << 10);
        usleep(5000);
    }
    return 0;
}
