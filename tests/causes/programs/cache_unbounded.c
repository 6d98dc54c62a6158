// cause: growth
// owner: cache_insert
// change: bound|evict|keeps
// source: the kind of DNS caches
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void work(void) { usleep(20000); }

struct entry {
    struct entry *next;
    char text[100 << 10];
};
static struct entry *cache;

__attribute__((noinline)) static void cache_insert(int n)
{
    struct entry *e = malloc(sizeof *e);
    memset(e->text, n, sizeof e->text);
    e->next = cache;
    cache = e;
}

int main(void)
{
    for (int n = 0; n < 200; n++) {
        cache_insert(n);
        work();
    }
    printf("{\"bytes\": [%zu, %zu]}\n", 200 * sizeof(struct entry), sizeof(struct entry));
    return 0;
}
