// cause: growth
// owner: parse_document|read_fields|duplicate|handle
// change: free|keeps
// source: the kind of parsers that return early when a document is not valid
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS = 24, FIELD = 6000, DOCUMENTS = 2000 };

struct document {
    char *fields[FIELDS];
    int count;
};

static long lost;

__attribute__((noinline)) static char *duplicate(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

__attribute__((noinline)) static int read_fields(struct document *d, const char *text,
                                                 int valid_fields)
{
    for (d->count = 0; d->count < FIELDS; d->count++) {
        if (d->count == valid_fields) return -1; /* the fields of d so far are lost */
        d->fields[d->count] = duplicate(text, FIELD);
    }
    return 0;
}

static void release(struct document *d)
{
    for (int i = 0; i < d->count; i++) free(d->fields[i]);
    free(d);
}

__attribute__((noinline)) static struct document *parse_document(const char *text, int valid_fields)
{
    struct document *d = calloc(1, sizeof *d);
    if (read_fields(d, text, valid_fields) < 0) {
        lost += d->count * (FIELD + 1L);
        free(d);
        return NULL;
    }
    return d;
}

int main(void)
{
    char *text = malloc(FIELD + 1);
    memset(text, 'x', FIELD);
    int valid = 0, bad = 0;
    for (int n = 0; n < DOCUMENTS; n++) {
        struct document *d = parse_document(text, n % 5 == 2 ? 17 : FIELDS + 1);
        if (d) valid++, release(d);
        else bad++;
        usleep(2000);
    }
    free(text);
    printf("%d valid, %d bad\n{\"bytes\": [%ld, %ld]}\n", valid, bad, lost, lost / bad);
    return 0;
}
