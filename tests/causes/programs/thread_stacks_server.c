// cause: thread_stacks
// owner: stack
// change: stack
// source: the kind of servers with one thread per connection
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    struct node *child;
    char text[40];
};

__attribute__((noinline)) static struct node *parse(int depth)
{
    char scratch[64 << 10];
    memset(scratch, depth, sizeof scratch);
    struct node *n = malloc(sizeof *n);
    memcpy(n->text, scratch, sizeof n->text);
    n->child = depth ? parse(depth - 1) : NULL;
    return n;
}

static void *serve(void *arg)
{
    struct node *n = parse(95);
    sleep(2);
    for (struct node *next; n; n = next) {
        next = n->child;
        free(n);
    }
    return arg;
}

int main(void)
{
    pthread_t thread[48];
    for (int i = 0; i < 48; i++) pthread_create(&thread[i], NULL, serve, NULL);
    for (int i = 0; i < 48; i++) pthread_join(thread[i], NULL);
    printf("{\"bytes\": [%d]}\n", 48 * 96 * (64 << 10));
    return 0;
}
