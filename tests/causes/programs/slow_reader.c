// cause: growth
// owner: enqueue
// change: bound|queue|keeps
// source: the kind of message queues
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void work(void) { usleep(20000); }

struct message {
    struct message *next;
    char body[64 << 10];
};
static struct message *head, **tail = &head;

__attribute__((noinline)) static void enqueue(int n)
{
    struct message *m = malloc(sizeof *m);
    memset(m->body, n, sizeof m->body);
    m->next = NULL;
    *tail = m;
    tail = &m->next;
}

__attribute__((noinline)) static void dequeue(void)
{
    struct message *m = head;
    head = m->next;
    if (!head) tail = &head;
    free(m);
}

int main(void)
{
    for (int n = 0; n < 150; n++) {
        for (int i = 0; i < 5; i++) enqueue(n);
        for (int i = 0; i < 2; i++) dequeue();
        work();
    }
    printf("{\"bytes\": [%zu, %zu]}\n", 450 * sizeof(struct message), 3 * sizeof(struct message));
    return 0;
}
