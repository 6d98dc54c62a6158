// clang-format off
// cause: thread_stacks
// owner: stack|thread
// change: stack|recurs|pthread_attr_setstacksize|depth|fewer|ulimit|iterat|smaller
// source: a firewall with worker threads that match rules by recursion, one level for each byte of the input; the stacks stay as deep as the longest input
// clang-format on
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 6, LONGEST = 60000, CAPTURES = 64 };

static char input[LONGEST + 1];
static size_t depths[WORKERS];
static __thread uintptr_t top;
static __thread size_t deepest;

__attribute__((noinline)) static int match(const char *text, const size_t *outer)
{
    size_t captures[CAPTURES];
    size_t depth = top - (uintptr_t)captures;
    if (depth > deepest) deepest = depth;
    if (*text == '\0') return 1;
    memcpy(captures, outer, sizeof captures);
    captures[(unsigned char)*text % CAPTURES]++;
    if (*text == '!') return 0;
    int found = match(text + 1, captures);
    return found ? found + (int)(captures[5] & 1) : 0;
}

static void *work(void *argument)
{
    size_t number = (size_t)argument, captures[CAPTURES] = { 0 };
    top = (uintptr_t)captures;
    int found = 0;
    for (int packet = 0; packet < 40; packet++) {
        size_t length = packet == 5 ? LONGEST : 200 + (size_t)packet;
        found += match(input + LONGEST - length, captures);
        usleep(100000);
    }
    depths[number] = deepest;
    return found == 0 ? NULL : argument;
}

int main(void)
{
    memset(input, 'a', LONGEST);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)128 << 20);
    pthread_t workers[WORKERS];
    for (size_t i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], &attributes, work, (void *)i) != 0) return 1;
    size_t sum = 0;
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(workers[i], NULL);
        sum += depths[i];
    }
    printf("{\"bytes\": [%zu, %zu]}\n", sum, depths[0]);
    return 0;
}
