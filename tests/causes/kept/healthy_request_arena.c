// cause: none
// source: a healthy program: an arena that is reset after each request and grows to the largest of
// them
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

struct chunk {
    struct chunk *next;
    size_t used;
    char data[CHUNK];
};

struct arena {
    struct chunk *first, *current;
};

static struct chunk *new_chunk(void)
{
    struct chunk *c = malloc(sizeof *c);
    c->next = NULL;
    c->used = 0;
    return c;
}

static void *arena_alloc(struct arena *a, size_t size)
{
    if (a->current->used + size > CHUNK) {
        if (!a->current->next) a->current->next = new_chunk();
        a->current = a->current->next;
        a->current->used = 0;
    }
    void *place = a->current->data + a->current->used;
    a->current->used += size;
    return place;
}

static void arena_reset(struct arena *a)
{
    a->current = a->first;
    a->current->used = 0;
}

__attribute__((noinline)) static long handle_request(struct arena *a, int nodes)
{
    long sum = 0;
    for (int i = 0; i < nodes; i++) {
        char *node = memset(arena_alloc(a, 2048), i, 2048);
        sum += node[i % 2048];
    }
    arena_reset(a);
    return sum;
}

int main(void)
{
    struct arena a = { new_chunk(), NULL };
    long sum = 0;
    arena_reset(&a);
    for (int n = 0; n < 900; n++) {
        int busy = n < 300        ? n * 50
                   : n % 100 == 0 ? 19000
                                  : 12000 + n % 5000; /* morning, then the day */
        sum += handle_request(&a, busy);
        usleep(4000);
    }
    for (struct chunk *c = a.first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    printf("%ld\n{}\n", sum);
    return 0;
}
