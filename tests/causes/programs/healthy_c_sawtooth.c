// cause: none
// source: a healthy program
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *batch[100];

int main(void)
{
    for (int n = 0; n < 500; n++) {
        batch[n % 100] = memset(malloc(100 << 10), 1, 100 << 10);
        usleep(3000);
        if (n % 100 == 99)
            for (int i = 0; i < 100; i++) free(batch[i]);
    }
    return 0;
}
