// changed: mallopt(M_ARENA_MAX, 1) was removed, so each worker has a malloc arena of its own
// cause: retention
// owner: (?i)node_new|parse_feed|worker_main|summary_new
// change: (?i)arena|fragment|malloc_trim|retain|mallopt|thread|jemalloc|tcmalloc|freed|returned
// larger: after
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 16, NODES = 64000, NODE_BYTES = 344, SUMMARY_BYTES = 2000 };

struct node {
    struct node *next;
    char text[NODE_BYTES - sizeof(struct node *)];
};

static pthread_mutex_t feed_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t feed_cond = PTHREAD_COND_INITIALIZER;
static int finished, stopping;
static char *summaries[WORKERS];
static size_t live, top;

static void count(long n)
{
    live += n;
    if (live > top) top = live;
}

static __attribute__((noinline)) struct node *node_new(struct node *next, int n)
{
    struct node *p = malloc(sizeof *p);
    if (!p) exit(1);
    p->next = next;
    memset(p->text, 'a' + n % 26, sizeof p->text);
    count(sizeof *p);
    return p;
}

static __attribute__((noinline)) char *summary_new(const struct node *list)
{
    char *s = malloc(SUMMARY_BYTES);
    size_t i = 0;
    for (; list && i < SUMMARY_BYTES - 1; list = list->next) s[i++] = list->text[0];
    s[i] = 0;
    count(SUMMARY_BYTES);
    return s;
}

static __attribute__((noinline)) char *parse_feed(int id)
{
    struct node *list = NULL;
    for (int n = 0; n < NODES; n++) list = node_new(list, n + id);
    char *s = summary_new(list);
    while (list) {
        struct node *next = list->next;
        free(list);
        count(-(long)sizeof *list);
        list = next;
    }
    return s;
}

static void *worker_main(void *arg)
{
    int id = (int)(long)arg;
    pthread_mutex_lock(&feed_lock);
    summaries[id] = parse_feed(id);
    finished++;
    pthread_cond_broadcast(&feed_cond);
    while (!stopping) pthread_cond_wait(&feed_cond, &feed_lock);
    pthread_mutex_unlock(&feed_lock);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    if (strcmp(argv[1], "before") == 0) mallopt(M_ARENA_MAX, 1);
    pthread_t t[WORKERS];
    for (long i = 0; i < WORKERS; i++) pthread_create(&t[i], NULL, worker_main, (void *)i);
    pthread_mutex_lock(&feed_lock);
    while (finished < WORKERS) pthread_cond_wait(&feed_cond, &feed_lock);
    struct mallinfo2 m = mallinfo2();
    stopping = 1;
    pthread_cond_broadcast(&feed_cond);
    pthread_mutex_unlock(&feed_lock);
    for (int i = 0; i < WORKERS; i++) pthread_join(t[i], NULL);
    size_t one = (size_t)NODES * sizeof(struct node);
    printf("parsed %d feeds, first %.8s\n", WORKERS, summaries[0]);
    for (int i = 0; i < WORKERS; i++) free(summaries[i]);
    printf("{\"bytes\": [%zu, %zu, %zu], \"peak\": %zu}\n", m.fordblks, m.arena,
           (WORKERS - 1) * one, top);
    return 0;
}
