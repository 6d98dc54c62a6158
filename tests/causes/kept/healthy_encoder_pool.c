// cause: none
// source: a healthy program: threads that take frames from a pool and give them back
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, FRAME = 3 << 20, MAX_FREE = 24, FRAMES = 160 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *free_frames[MAX_FREE];
static int free_count;

static char *take_frame(void)
{
    char *frame = NULL;
    pthread_mutex_lock(&lock);
    if (free_count) frame = free_frames[--free_count];
    pthread_mutex_unlock(&lock);
    return frame ? frame : malloc(FRAME);
}

static void give_back(char *frame)
{
    pthread_mutex_lock(&lock);
    if (free_count < MAX_FREE) free_frames[free_count++] = frame, frame = NULL;
    pthread_mutex_unlock(&lock);
    free(frame);
}

static unsigned long encode(int first, int depth)
{
    char *frames[8];
    unsigned long sum = 0;
    for (int i = 0; i < depth; i++) frames[i] = memset(take_frame(), first + i, FRAME);
    for (int i = 0; i < depth; i++) sum += (unsigned char)frames[i][FRAME / 3];
    for (int i = 0; i < depth; i++) give_back(frames[i]);
    return sum;
}

static void *worker(void *argument)
{
    unsigned long sum = 0;
    for (int n = 0; n < FRAMES; n++) {
        sum += encode(n, n < 40 ? 2 : 3 + n % 3);
        usleep(20000);
    }
    *(unsigned long *)argument = sum;
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned long sums[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, worker, &sums[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    while (free_count) free(free_frames[--free_count]);
    printf("%lu\n{}\n", sums[0]);
    return 0;
}
