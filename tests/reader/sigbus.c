/* sigbus LOG HANDLER: causes faults and gets a signal while the library reads a log that is
 * truncated meanwhile. HANDLER is the program's handler: jump, siginfo, once, default or ignored.
 * With the last three a fault ends the program, unless "sent" is also given. */
#include <mpr/stream.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int calls, with_address;
static const volatile char *page; /* beyond the end of its file */

static void jumps(int number)
{
    (void)number;
    calls++;
    siglongjmp(back, 1);
}

static void count_with_address(int number, siginfo_t *info, void *context)
{
    (void)context;
    with_address += number == SIGBUS && info->si_addr == (void *)page;
    jumps(number);
}

static void returns(int number)
{
    (void)number;
    printf("called once\n");
    fflush(stdout);
}

static void take(const char *how)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    if (strcmp(how, "jump") == 0) action.sa_handler = jumps;
    if (strcmp(how, "ignored") == 0) action.sa_handler = SIG_IGN;
    if (strcmp(how, "siginfo") == 0)
        action.sa_sigaction = count_with_address, action.sa_flags = SA_SIGINFO;
    if (strcmp(how, "once") == 0) action.sa_handler = returns, action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGBUS, &action, NULL);
}

static const volatile char *page_without_a_file(void)
{
    FILE *file = tmpfile();
    if (!file) exit(1);
    return mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
}

static void fault_or_send(int sent)
{
    if (sigsetjmp(back, 1)) return;
    if (sent) kill(getpid(), SIGBUS);
    else (void)*page;
}

int main(int argc, char **argv)
{
    const struct mpf_event *events;
    const int sent = argc > 3;
    take(argv[2]);
    page = page_without_a_file();
    struct mpr_stream *stream = mpr_stream_open(argv[1]);
    fault_or_send(sent);
    fault_or_send(sent);
    if (truncate(argv[1], 600) != 0) return 1;
    if (sigsetjmp(back, 1)) printf("the library's own fault came to the program\n");
    else
        while (mpr_stream_next(stream, &events) > 0) continue;
    mpr_stream_close(stream);
    printf("%d calls, %d with an address\n", calls, with_address);
    return 0;
}
