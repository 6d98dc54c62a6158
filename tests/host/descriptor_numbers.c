/* `descriptor_numbers TRIES [HOW]`: while threads allocate, so that memprof's pool grows,
 * another thread opens and closes the descriptors from FIRST to LAST.  All descriptors except
 * one refer to the same file.  An open must return the free number, every descriptor must keep
 * referring to that file, and the contents of the file must not change.  Prints the
 * deviations.  HOW is `fork` or `_fork` if a child is to do this. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 3, LAST = 20, THREADS = 3, BYTES = 1 << 20, LIVE = 256 };

static char path[] = "/tmp/memprof-numbers.XXXXXX";
static int file; /* at a number above LAST */
static ino_t inode;
static int stop;

static void *allocate(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    void *live[LIVE] = { 0 };
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 1000; i++) {
            seed = seed * 1103515245 + 12345;
            const unsigned at = seed >> 16 & (LIVE - 1);
            free(live[at]);
            live[at] = malloc((seed >> 8) % 2000 + 1);
        }
    for (int i = 0; i < LIVE; i++) free(live[i]);
    return NULL;
}

static void make_file(void)
{
    static char bytes[BYTES];
    struct stat st;
    memset(bytes, 'z', BYTES);
    const int fd = mkstemp(path);
    unlink(path);
    file = fcntl(fd, F_DUPFD_CLOEXEC, LAST + 1);
    close(fd);
    if (write(file, bytes, BYTES) != BYTES || fstat(file, &st) != 0) exit(2);
    inode = st.st_ino;
    for (int n = FIRST; n <= LAST; n++) dup2(file, n);
}

static int other_files(void)
{
    int n = 0;
    for (int fd = FIRST; fd <= LAST; fd++) {
        struct stat st;
        n += fstat(fd, &st) != 0 || st.st_ino != inode;
    }
    return n;
}

static int changed_bytes(void)
{
    static char bytes[BYTES];
    struct stat st;
    int n = fstat(file, &st) != 0 || st.st_size != BYTES;
    if (pread(file, bytes, BYTES, 0) != BYTES) n++;
    for (int i = 0; i < BYTES; i++) n += bytes[i] != 'z';
    return n;
}

static int open_holes(int tries)
{
    pthread_t thread[THREADS];
    int wrong = 0;
    make_file();
    for (size_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, allocate, (void *)i);
    for (int i = 0; i < tries; i++) {
        const int hole = FIRST + i % (LAST - FIRST + 1);
        close(hole);
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        wrong += fd != hole;
        if (fd > LAST) close(fd);
        dup2(file, hole);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    printf("%d wrong numbers, %d other files, %d bytes changed\n", wrong, other_files(),
           changed_bytes());
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    const int tries = argc > 1 ? atoi(argv[1]) : 1000;
    if (argc < 3) return open_holes(tries);
    const pid_t child = strcmp(argv[2], "fork") ? _Fork() : fork();
    if (child == 0) _exit(open_holes(tries));
    int status;
    return waitpid(child, &status, 0) != child || status;
}
