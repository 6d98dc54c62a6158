// cause: growth
// owner: find_session|new_session|handle_request
// change: free|evict|expire|keeps|limit
// source: the kind of proxies whose sessions of anonymous clients never expire
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 4096, REQUESTS = 6000 };

struct session {
    struct session *next;
    uint64_t token;
    time_t last_seen;
    char attributes[12000];
};

static struct session *table[BUCKETS];
static long sessions;

static struct session *new_session(uint64_t token)
{
    struct session *s = malloc(sizeof *s);
    memset(s, 0, sizeof *s);
    s->token = token;
    s->next = table[token % BUCKETS];
    table[token % BUCKETS] = s;
    sessions++;
    return s;
}

static struct session *find_session(uint64_t token)
{
    for (struct session *s = table[token % BUCKETS]; s; s = s->next)
        if (s->token == token) return s;
    return new_session(token);
}

__attribute__((noinline)) static size_t handle_request(uint64_t token, const char *query)
{
    struct session *s = find_session(token);
    char *page = malloc(32 << 10);
    int length = snprintf(page, 32 << 10, "<p>%s</p> seen %ld", query, (long)s->last_seen);
    s->last_seen += 1;
    free(page);
    return length;
}

int main(void)
{
    size_t sent = 0;
    for (int n = 0; n < REQUESTS; n++) {
        /* a third of the clients send their cookie back, the others get a new token each time */
        uint64_t token = n % 3 ? (uint64_t)n * 2654435761u : (uint64_t)(n % 24);
        sent += handle_request(token, "q=memory");
        if (n % 10 == 0) usleep(10000);
    }
    printf("sent %zu\n{\"bytes\": [%zu, %ld]}\n", sent, sizeof(struct session),
           sessions * (long)sizeof(struct session));
    return 0;
}
