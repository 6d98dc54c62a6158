/* `mixed FILE SEED [KEY=VALUE...]`: a random mix of situations that can break a recorder, defined
 * by the seed. It runs until FILE (truth.h) contains the request to stop, in phases: threads start,
 * allocate and end, while the main thread forks and loads libraries. Between two phases the main
 * thread is alone. `mixed FILE SEED child`: the program that its children execute.
 *
 * The keys are those of `option` below. A situation without a key does not occur. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../host/refusal.h"
#include "family.h"
#include "ranges.h"
#include "steps.h"
#include "truth.h"

enum { MOST_THREADS = 1000, STACK = 128 << 10, OFTEN_NS = 300000 };

static long threads = 1;           /* the largest number at once */
static long many;                  /* the same for every eighth phase */
static long burst = 200;           /* steps of a thread */
static long forks;                 /* in total */
static long ways;                  /* the number of allowed ways of enum family */
static long beside;                /* children are created while other threads run */
static long handlers;              /* of a timer */
static long phases;                /* after which the program ends; 0: never */
static long all_calls;             /* also valloc and pvalloc */
static long at = 3;                /* the phase in which the following situations start */
static long limit = -1, limit_to;  /* of a RLIMIT_ */
static long refuse;                /* an errno for the calls in `calls` */
static const char *library = "";   /* a library that is loaded and unloaded */
static const char *calls = "";     /* names, separated by commas */
static const char *end = "return"; /* or exit, _exit, thread, abort, exec */

static const struct {
    const char *name;
    long *number;
    const char **text;
} option[] = {
#define NUMBER(key) .name = #key, .number = &key
#define TEXT(key)   .name = #key, .text = &key
    { NUMBER(threads) },   { NUMBER(many) },   { NUMBER(burst) },    { NUMBER(forks) },
    { NUMBER(ways) },      { NUMBER(beside) }, { NUMBER(handlers) }, { NUMBER(phases) },
    { NUMBER(at) },        { NUMBER(limit) },  { NUMBER(limit_to) }, { NUMBER(refuse) },
    { NUMBER(all_calls) }, { TEXT(library) },  { TEXT(calls) },      { TEXT(end) },
};

static struct owner main_owner, owner[MOST_THREADS], handlers_owner;
static bool is_there[MOST_THREADS]; /* set if the thread has a lane */

static void set(const char *word)
{
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        if (strlen(option[i].name) != length || memcmp(option[i].name, word, length) != 0) continue;
        if (option[i].number) *option[i].number = atol(word + length + 1);
        else *option[i].text = word + length + 1;
        return;
    }
    fprintf(stderr, "mixed: %s?\n", word);
    exit(2);
}

/* ---- a phase */

static void *run(void *arg)
{
    struct owner *o = arg;
    steps(o, (unsigned)(roll(&o->dice) % (uint64_t)burst) + 1);
    return NULL;
}

static bool begin(long i)
{
    if (!is_there[i]) is_there[i] = owner_begin(&owner[i], roll(&main_owner.dice));
    return is_there[i];
}

/* If no thread can be created, the main thread runs the steps. */
static long start(pthread_t *thread, long count)
{
    pthread_attr_t attributes;
    long made = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (long i = 0; i < count && begin(i); i++) {
        if (pthread_create(&thread[made], &attributes, run, &owner[i]) == 0) made++;
        else run(&owner[i]);
    }
    pthread_attr_destroy(&attributes);
    return made;
}

static void load(void)
{
    void *plugin = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return;
    steps_library = (void *(*)(size_t))dlsym(plugin, "plugin_take");
    steps(&main_owner, 20);
    steps_library = NULL;
    dlclose(plugin);
}

static void make_child(long of_ways)
{
    if (forks <= 0 || of_ways <= 0) return;
    forks--;
    family_wait(
        family_make((enum family)(roll(&main_owner.dice) % (uint64_t)of_ways), &main_owner));
}

static void phase(long number)
{
    static pthread_t thread[MOST_THREADS];
    const bool is_large = many && number % 8 == 1;
    const long made =
        start(thread, is_large ? many : 1 + (long)(roll(&main_owner.dice) % (uint64_t)threads));
    steps(&main_owner, (unsigned)burst);
    if (*library) load();
    if (beside && roll(&main_owner.dice) % 2)
        make_child(ways < FAMILY_WITH_THREADS ? ways : FAMILY_WITH_THREADS);
    for (long i = 0; i < made; i++) pthread_join(thread[i], NULL);
    if (roll(&main_owner.dice) % 2) make_child(ways);
}

/* ---- situations that start once */

static void handle(int signal)
{
    const int saved = errno;
    (void)signal;
    steps_in_handler(&handlers_owner);
    errno = saved;
}

/* The main thread gets the signal. */
static void start_timer(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
    const struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK };
    const struct itimerspec often = { { 0, OFTEN_NS }, { 0, OFTEN_NS } };
    static char stack[64 << 10];
    timer_t timer;
    event._sigev_un._tid = gettid();
    if (!owner_begin(&handlers_owner, roll(&main_owner.dice))) return;
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    sigaction(SIGPROF, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &often, NULL);
}

static void refuse_calls(void)
{
    static char text[512], *name[32];
    int n = 0;
    snprintf(text, sizeof text, "%s", calls);
    for (char *word = strtok(text, ","); word && n < 31; word = strtok(NULL, ",")) name[n++] = word;
    install(name, SECCOMP_RET_ERRNO | (unsigned)refuse, SECCOMP_RET_ALLOW);
}

static void set_limits(void)
{
    const struct rlimit value = { (rlim_t)limit_to, (rlim_t)limit_to };
    if (limit >= 0) setrlimit((__rlimit_resource_t)limit, &value);
    if (*calls) refuse_calls();
}

/* ---- the end */

static void *leave(void *arg) { exit(*(int *)arg); }

static int finish(void)
{
    static int status;
    pthread_t thread;
    status = steps_corrupt ? 9 : 0;
    signal(SIGPROF, SIG_IGN);
    if (write(STDOUT_FILENO, "done\n", 5) != 5) return 8;
    truth->lane[main_owner.lane].orderly = strcmp(end, "abort") != 0;
    if (!strcmp(end, "exit")) exit(status);
    if (!strcmp(end, "_exit")) _exit(status);
    if (!strcmp(end, "abort")) abort();
    if (!strcmp(end, "thread") && pthread_create(&thread, NULL, leave, &status) == 0)
        pthread_exit(NULL);
    if (!strcmp(end, "exec")) execl("/proc/self/exe", "mixed", family_file, "1", "child", NULL);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !truth_open(argv[1])) return 2;
    family_file = argv[1];
    ranges_init();
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    if (argc == 4 && !strcmp(argv[3], "child")) return family_program(strtoull(argv[2], NULL, 10));
    for (int i = 3; i < argc; i++) set(argv[i]);
    steps_all_calls = all_calls;
    if (!owner_begin(&main_owner, strtoull(argv[2], NULL, 10))) return 2;
    if (handlers) start_timer();
    for (long n = 0; !truth->stop && (!phases || n < phases); n++) {
        if (n == at) set_limits();
        phase(n);
    }
    return finish();
}
