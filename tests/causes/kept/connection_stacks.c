// cause: thread_stacks
// owner: serve_connection|read_request|main|threads
// change: stack|thread|pool|fewer
// source: the kind of servers with one thread per connection and large buffers on the stack
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 160, BUFFER = 768 << 10 };

static pthread_barrier_t ready, end;

__attribute__((noinline)) static int read_request(char *buffer, int connection)
{
    memset(buffer, connection + 1, BUFFER);
    return buffer[BUFFER / 2];
}

static void *serve_connection(void *argument)
{
    char buffer[BUFFER];
    long sum = read_request(buffer, (int)(long)argument);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&end);
    return (void *)(sum + buffer[17]);
}

int main(void)
{
    pthread_t threads[CONNECTIONS];
    pthread_barrier_init(&ready, NULL, CONNECTIONS + 1);
    pthread_barrier_init(&end, NULL, CONNECTIONS + 1);
    for (long i = 0; i < CONNECTIONS; i++) {
        pthread_create(&threads[i], NULL, serve_connection, (void *)i);
        usleep(5000);
    }
    pthread_barrier_wait(&ready);
    sleep(3);
    pthread_barrier_wait(&end);
    for (int i = 0; i < CONNECTIONS; i++) pthread_join(threads[i], NULL);
    printf("{\"bytes\": [%ld, %ld]}\n", (long)CONNECTIONS * BUFFER,
           CONNECTIONS * (long)(BUFFER + 8192));
    return 0;
}
