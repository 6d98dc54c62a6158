// cause: none
// source: a healthy program; nearly: retention
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *session[50];

static void serve(int n)
{
    if (!session[n % 50]) session[n % 50] = memset(malloc(100 << 10), 1, 100 << 10);
    char *reply = memset(malloc(50 << 10), 1, 50 << 10);
    usleep(5000);
    free(reply);
}

int main(void)
{
    for (int n = 0; n < 500; n++) serve(n);
    return 0;
}
