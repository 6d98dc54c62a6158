// clang-format off
// cause: none
// source: a healthy program: a route planner reads edges into an array that doubles, builds its compact graph, frees the edges, and answers queries
// clang-format on
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 500000, EDGES = 6000000, QUERIES = 12 };

struct edge {
    uint32_t from, to;
};

struct graph {
    uint32_t *first, *target;
};

__attribute__((noinline)) static struct edge *read_edges(void)
{
    size_t capacity = 1 << 16;
    struct edge *edges = malloc(capacity * sizeof *edges);
    uint32_t state = 3;
    for (size_t i = 0; i < EDGES; i++) {
        if (i == capacity) {
            capacity *= 2;
            edges = realloc(edges, capacity * sizeof *edges);
        }
        if (edges == NULL) exit(1);
        state = state * 1664525u + 1013904223u;
        edges[i] = (struct edge){ (uint32_t)(i % NODES), (state >> 8) % NODES };
        if (i % 100000 == 0) usleep(10000);
    }
    return edges;
}

__attribute__((noinline)) static struct graph build_graph(const struct edge *edges)
{
    struct graph graph = { calloc(NODES + 2, 4), malloc((size_t)EDGES * 4) };
    if (graph.first == NULL || graph.target == NULL) exit(1);
    for (size_t i = 0; i < EDGES; i++) graph.first[edges[i].from + 2]++;
    for (size_t i = 2; i < NODES + 2; i++) graph.first[i] += graph.first[i - 1];
    for (size_t i = 0; i < EDGES; i++) graph.target[graph.first[edges[i].from + 1]++] = edges[i].to;
    return graph;
}

__attribute__((noinline)) static size_t reachable(struct graph graph, uint32_t start)
{
    unsigned char *seen = calloc(NODES, 1);
    uint32_t *queue = malloc((size_t)NODES * 4);
    size_t head = 0, tail = 0;
    if (seen == NULL || queue == NULL) exit(1);
    seen[start] = 1;
    queue[tail++] = start;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; i++) {
            if (!seen[graph.target[i]]) {
                seen[graph.target[i]] = 1;
                queue[tail++] = graph.target[i];
            }
        }
    }
    free(queue);
    free(seen);
    return tail;
}

int main(void)
{
    struct edge *edges = read_edges();
    struct graph graph = build_graph(edges);
    size_t sum = 0;
    free(edges);
    for (uint32_t query = 0; query < QUERIES; query++) {
        sum += reachable(graph, query * 1000);
        usleep(250000);
    }
    printf("%zu nodes reached\n{\"bytes\": []}\n", sum);
    return 0;
}
