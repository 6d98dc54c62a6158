// cause: none
// source: a healthy program
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *table[200];

int main(void)
{
    for (int n = 0; n < 200; n++) table[n] = memset(malloc(300 << 10), 1, 300 << 10);
    sleep(2);
    return table[0][0] - 1;
}
