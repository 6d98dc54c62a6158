// cause: thread_stacks
// owner: req|parse_deep|stack
// change: stack
// source: rust-lang/rust#15600, ClickHouse/ClickHouse#106230
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) static int parse_deep(int n)
{
    volatile char frame[64 << 10];
    memset((char *)frame, n, sizeof frame);
    return n ? parse_deep(n - 1) + frame[5] : 0;
}

static void *req(void *arg)
{
    pthread_setname_np(pthread_self(), "req");
    volatile int sum = parse_deep(95);
    (void)sum;
    sleep(2);
    return arg;
}

int main(void)
{
    pthread_t thread[48];
    for (int i = 0; i < 48; i++) pthread_create(&thread[i], NULL, req, NULL);
    for (int i = 0; i < 48; i++) pthread_join(thread[i], NULL);
    printf("{\"bytes\": [%d]}\n", 48 * 96 * (64 << 10));
    return 0;
}
