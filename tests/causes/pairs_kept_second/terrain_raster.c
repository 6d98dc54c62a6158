// changed: elevation samples are kept as double instead of float, as many as before
// cause: element_size
// owner: (?i)raster_row_new|raster_open|load_mosaic
// change: (?i)double|float|element|type|precision|width|bytes per|sizeof|each (block )?(is )?larger
// larger: after
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4500, COLS = 9000 };

struct raster {
    int rows, cols;
    size_t sample;
    void **row;
};

static size_t live, top;

static __attribute__((noinline)) void *raster_row_new(const struct raster *r)
{
    size_t n = (size_t)r->cols * r->sample;
    void *p = malloc(n);
    if (!p) exit(1);
    live += n;
    if (live > top) top = live;
    return p;
}

static void put(const struct raster *r, void *row, int x, double v)
{
    if (r->sample == sizeof(double)) ((double *)row)[x] = v;
    else ((float *)row)[x] = (float)v;
}

static double get(const struct raster *r, int y, int x)
{
    if (r->sample == sizeof(double)) return ((double *)r->row[y])[x];
    return ((float *)r->row[y])[x];
}

static __attribute__((noinline)) struct raster *raster_open(int rows, int cols, size_t sample)
{
    struct raster *r = malloc(sizeof *r);
    r->rows = rows;
    r->cols = cols;
    r->sample = sample;
    r->row = malloc(rows * sizeof *r->row);
    for (int y = 0; y < rows; y++) r->row[y] = raster_row_new(r);
    return r;
}

static __attribute__((noinline)) struct raster *load_mosaic(size_t sample)
{
    struct raster *r = raster_open(ROWS, COLS, sample);
    for (int y = 0; y < r->rows; y++)
        for (int x = 0; x < r->cols; x++)
            put(r, r->row[y], x, 400.0 + (y % 97) * 0.5 + (x % 61) * 0.25);
    return r;
}

static __attribute__((noinline)) double steepest_slope(const struct raster *r)
{
    double best = 0;
    for (int y = 1; y < r->rows; y++)
        for (int x = 1; x < r->cols; x++) {
            double dy = get(r, y, x) - get(r, y - 1, x);
            double dx = get(r, y, x) - get(r, y, x - 1);
            double s = dx * dx + dy * dy;
            if (s > best) best = s;
        }
    return best;
}

static void raster_close(struct raster *r)
{
    for (int y = 0; y < r->rows; y++) free(r->row[y]);
    free(r->row);
    free(r);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    size_t sample = strcmp(argv[1], "after") == 0 ? sizeof(double) : sizeof(float);
    struct raster *r = load_mosaic(sample);
    printf("steepest %.3f\n", steepest_slope(r));
    raster_close(r);
    size_t cells = (size_t)ROWS * COLS;
    printf("{\"bytes\": [%zu, %zu], \"peak\": %zu}\n", cells * sample, cells * 4, top);
    return 0;
}
