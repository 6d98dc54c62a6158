// cause: temporaries
// owner: blur|to_planes|filter_image
// change: reuse|smaller|piece|tile|row|float|chunk|in place|strip
// source: the kind of image filters that widen every pixel to double
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 3000, HEIGHT = 2000, PIXELS = WIDTH * HEIGHT };

__attribute__((noinline)) static double *to_planes(const unsigned char *image)
{
    double *planes = malloc(3UL * PIXELS * sizeof *planes);
    for (long i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++) planes[c * (long)PIXELS + i] = image[3 * i + c];
    return planes;
}

__attribute__((noinline)) static double *blur(const double *planes)
{
    double *out = malloc(3UL * PIXELS * sizeof *out);
    memcpy(out, planes, 3UL * PIXELS * sizeof *out);
    for (long i = WIDTH; i < 3L * PIXELS - WIDTH; i++)
        out[i] = (planes[i - WIDTH] + 2 * planes[i] + planes[i + WIDTH]) / 4;
    return out;
}

__attribute__((noinline)) static void filter_image(unsigned char *image)
{
    double *planes = to_planes(image), *smooth = blur(planes);
    for (long i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++) image[3 * i + c] = (unsigned char)smooth[c * (long)PIXELS + i];
    free(planes);
    free(smooth);
}

int main(void)
{
    unsigned char *image = malloc(3UL * PIXELS);
    unsigned long sum = 0;
    for (int n = 0; n < 10; n++) {
        memset(image, n * 20, 3UL * PIXELS);
        filter_image(image);
        sum += image[PIXELS];
    }
    free(image);
    unsigned long one = 3UL * PIXELS * sizeof(double);
    printf("%lu\n{\"bytes\": [%lu, %lu]}\n", sum, one, 2 * one);
    return 0;
}
