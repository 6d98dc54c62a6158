// changed: labels are interned while the document is parsed, so they lie between its nodes
// cause: retention
// owner: parse_node
// change: malloc_trim|arena|order
// larger: after
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 100000, EACH = 40 };

struct node {
    struct node *next;
    char text[1200];
};

static char *label[NODES / EACH];

__attribute__((noinline)) static char *intern(int n)
{
    char *s = malloc(40);
    snprintf(s, 40, "element %d", n);
    return s;
}

__attribute__((noinline)) static struct node *parse_node(int n, struct node *next)
{
    struct node *node = malloc(sizeof *node);
    memset(node->text, n, sizeof node->text);
    node->next = next;
    return node;
}

static void load(int interleaved)
{
    struct node *first = NULL;
    for (int n = 0; n < NODES; n++) {
        first = parse_node(n, first);
        if (interleaved && n % EACH == 0) label[n / EACH] = intern(n);
    }
    for (struct node *next; first; first = next) {
        next = first->next;
        free(first);
    }
    for (int n = 0; !interleaved && n < NODES; n += EACH) label[n / EACH] = intern(n);
}

int main(int argc, char **argv)
{
    load(argc > 1 && strcmp(argv[1], "after") == 0);
    for (int n = 0; n < 200; n++) usleep(10000);
    printf("{\"bytes\": [%d, %d]}\n", NODES * 1216, NODES * 1208);
    return 0;
}
