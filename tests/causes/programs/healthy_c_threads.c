// cause: none
// source: a healthy program; nearly: thread_stacks
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *work(void *arg)
{
    for (int n = 0; n < 2000; n++) free(memset(malloc(1000), 1, 1000));
    return arg;
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t thread[8];
        for (int i = 0; i < 8; i++) pthread_create(&thread[i], NULL, work, NULL);
        for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
    }
    return 0;
}
