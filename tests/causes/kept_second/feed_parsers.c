// clang-format off
// cause: retention
// owner: parse_feed|new_node|worker
// change: malloc_trim|trim|MALLOC_|arena|jemalloc|allocator|tcmalloc|mimalloc
// source: a feed reader parses with six threads, each in its own arena of malloc; a small summary at the end of an arena keeps all freed nodes resident
// clang-format on
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, NODES = 10000, TEXT = 3984 };

struct node {
    struct node *next;
    size_t length;
    char text[TEXT];
};

struct summary {
    int nodes;
    char title[56];
};

static struct summary *summaries[THREADS];
static pthread_barrier_t parsed;

__attribute__((noinline)) static struct node *new_node(struct node *next, int number)
{
    struct node *node = malloc(sizeof *node);
    if (node == NULL) exit(1);
    node->next = next;
    node->length = TEXT;
    memset(node->text, number % 90 + 33, TEXT);
    return node;
}

__attribute__((noinline)) static struct summary *parse_feed(void)
{
    struct node *first = NULL;
    for (int i = 0; i < NODES; i++) {
        first = new_node(first, i);
        if (i % 100 == 0) usleep(3000);
    }
    struct summary *summary = malloc(sizeof *summary);
    if (summary == NULL) exit(1);
    summary->nodes = NODES;
    memcpy(summary->title, first->text, sizeof summary->title);
    while (first != NULL) {
        struct node *next = first->next;
        free(first);
        first = next;
    }
    return summary;
}

static void *worker(void *argument)
{
    summaries[(size_t)argument] = parse_feed();
    pthread_barrier_wait(&parsed);
    sleep(3); // no feed changes for a while
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&parsed, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, worker, (void *)i);
    int nodes = 0;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        nodes += summaries[i]->nodes;
    }
    printf("%d nodes\n{\"bytes\": [%zu, %zu]}\n", nodes, (size_t)nodes * sizeof(struct node),
           (size_t)nodes * (sizeof(struct node) + 16));
    return 0;
}
