#include "core/resident.h"

#include <elf.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/own_maps.h"
#include "base/text.h"
#include "core/epoch.h"
#include "core/records.h"
#include "core/sample.h"
#include "core/state.h"
#include "mpf/event.h"
#include "mpf/sample.h"

/* Smaller processes are not read, so that short programs end as fast as before. */
#define MIN_BYTES  (UINT64_C(16) << 20)
#define FILE_BYTES (UINT64_C(1) << 20)  /* smaller files are not named */
#define LARGE      (UINT64_C(16) << 20) /* smaller mappings of private memory are not recorded */
#define PART_BYTES (UINT64_C(1) << 20)  /* their parts have at least this size */
#define MOST_BYTES                                                                                 \
    (UINT64_C(64) << 30) /* larger mappings have no parts, because that takes long                 \
                          */
/* Readings may take 10 ms of a processor in advance (sample.h limits their share of the time), so
 * that a program whose memory grows at its start is read several times.  A reading is given up
 * after 100 ms of a processor.  That bounds its work, not its waits for the lock of the process's
 * mappings, which the kernel holds only within each read(2). */
#define CREDIT_NS  INT64_C(10000000)
#define READING_NS UINT64_C(100000000)
/* Reports show the reading with the most memory.  So one is due when memory has grown by a
 * sixteenth since that reading, by a 64th at the end, and by a quarter whatever it costs: at most
 * 60 times up to 16 TiB. */
enum { GROWN = 16, GROWN_AT_END = 64, GROWN_MUCH = 4 };
/* glibc's arenas begin at multiples of this, and may follow an inaccessible mapping as stacks do.
 */
#define ARENA_BYTES (UINT64_C(64) << 20)

enum { POINTERS = 1024, FILES = 16, LARGEST = 8, TEXT_BYTES = 16 << 10, PATH_BYTES = 112 };

struct mapping {
    uint64_t from, to, offset, inode;
    uint64_t rss, anonymous, huge; /* bytes */
    bool can_read;
    char path[PATH_BYTES]; /* its end, if it is longer */
};

struct file {
    uint64_t inode, bytes, kind;
    char path[PATH_BYTES];
};

static struct {
    int pid;
    uint64_t largest;  /* RSS of the reading with the most memory */
    uint64_t time;     /* when the credit was computed, CLOCK_MONOTONIC ns; 0: never */
    int64_t credit;    /* processor time that readings may take now, ns; < 0: none */
    uint64_t deadline; /* of the current reading, on the clock of the thread's processor time */
    uint64_t value[MPF_RESIDENT_COUNT];
    struct mapping at, before;
    uint64_t object, object_end; /* inode of the newest object file, and where its .bss ends */
    struct file file[FILES];
    struct large {
        uint64_t from, value[MPF_MAPPING_COUNT];
        uint8_t part[MPF_MAPPING_PARTS];
    } large[LARGEST]; /* the largest mappings of private memory */
    size_t pointers;
    uint64_t pointer[POINTERS]; /* an address in each thread's stack */
} r;

static uint64_t used(void) { return mp_sys_clock(CLOCK_THREAD_CPUTIME_ID); }

/* ---- stacks of threads */

static void add_pointer(uint64_t address)
{
    if (address && r.pointers < POINTERS) r.pointer[r.pointers++] = address;
}

/* The kernel gives the stack pointer of a thread that waits: "number arguments sp pc". */
static bool read_pointer(void *arg, int tid)
{
    char path[64], text[256];
    struct mp_text t = MP_TEXT(path);
    (void)arg;
    mp_text_str(&t, "/proc/self/task/");
    mp_text_u64(&t, (uint64_t)tid);
    mp_text_str(&t, "/syscall");
    if (mp_sys_slurp(path, text, sizeof text) <= 0) return true;
    const char *pc = strrchr(text, ' ');
    const char *sp = pc ? memrchr(text, ' ', (size_t)(pc - text)) : NULL;
    if (sp && !strncmp(sp, " 0x", 3)) add_pointer(mp_text_hex(sp + 3));
    return used() < r.deadline;
}

/* Running threads have no stack pointer there, but perhaps a record. */
static void find_stacks(void)
{
    int dir = -1;
    r.pointers = 0;
    for (uint32_t i = 0; i < mp_threads_ever(); i++)
        if (__atomic_load_n(&mp_thread_at(i)->tid, __ATOMIC_ACQUIRE) > 0)
            add_pointer(mp_thread_at(i)->stack);
    mp_sys_numbers("/proc/self/task", &dir, read_pointer, NULL);
}

/* Returns true for the mapping that a thread's stack pointer is in, above inaccessible pages.  Both
 * are required: a stack pointer may be in a coroutine's stack on the heap, and inaccessible pages
 * may be the end of another kind of heap. */
static bool is_stack(const struct mapping *m)
{
    const bool guarded = r.before.to == m->from && !r.before.can_read && !r.before.inode;
    if (!guarded || m->from % ARENA_BYTES == 0) return false;
    for (size_t i = 0; i < r.pointers; i++)
        if (r.pointer[i] >= m->from && r.pointer[i] < m->to) return true;
    return false;
}

/* ---- files */

/* Counts bytes of a file.  If the table is full, the file with the fewest bytes is forgotten. */
static void add_file(const struct mapping *m, uint64_t kind, uint64_t bytes)
{
    struct file *least = &r.file[0];
    if (!bytes) return;
    for (size_t i = 0; i < FILES; i++) {
        struct file *f = &r.file[i];
        if (f->bytes && f->inode == m->inode && f->kind == kind && !strcmp(f->path, m->path)) {
            f->bytes += bytes;
            return;
        }
        if (f->bytes < least->bytes) least = f;
    }
    if (least->bytes >= bytes) return;
    *least = (struct file){ m->inode, bytes, kind, "" };
    memcpy(least->path, m->path, sizeof least->path);
}

static void note_largest_file(uint64_t kind)
{
    struct {
        uint64_t kind;
        char path[PATH_BYTES];
    } note = { .kind = kind };
    const struct file *largest = NULL;
    for (size_t i = 0; i < FILES; i++)
        if (r.file[i].kind == kind && (!largest || r.file[i].bytes > largest->bytes))
            largest = &r.file[i];
    if (!largest || largest->bytes < FILE_BYTES) return;
    memcpy(note.path, largest->path, sizeof note.path);
    mp_epoch_note(MPF_OP_RESIDENT_FILE, largest->bytes, &note,
                  sizeof note.kind + strlen(note.path));
}

/* ---- large mappings */

static void add_large(const struct mapping *m)
{
    const uint64_t bytes = m->to - m->from;
    struct large *least = &r.large[0];
    for (size_t i = 1; i < LARGEST; i++)
        if (r.large[i].value[MPF_MAPPING_BYTES] < least->value[MPF_MAPPING_BYTES])
            least = &r.large[i];
    if (bytes < LARGE || bytes <= least->value[MPF_MAPPING_BYTES] || !m->can_read) return;
    *least = (struct large){ m->from, { bytes, m->rss, m->huge, 0 }, "" };
}

/* Returns the resident pages, or a negative number if they are not known. */
static long count_pages(uint64_t from, uint64_t pages)
{
    static uint8_t resident[16 << 10];
    long sum = 0;
    for (uint64_t i = 0; i < pages; i += sizeof resident) {
        const uint64_t rest = pages - i, n = rest < sizeof resident ? rest : sizeof resident;
        if (used() >= r.deadline || mp_sys3(SYS_mincore, (long)(from + i * mp_sys_page()),
                                            (long)(n * mp_sys_page()), (long)resident) != 0)
            return -1;
        for (uint64_t k = 0; k < n; k++) sum += resident[k] & 1;
    }
    return sum;
}

/* The kernel joins neighbouring mappings, so the pages of one may belong to several blocks. */
static void find_parts(struct large *l)
{
    const uint64_t bytes = l->value[MPF_MAPPING_BYTES], page = mp_sys_page(),
                   least = PART_BYTES / page, pages = bytes / page,
                   even = (pages + MPF_MAPPING_PARTS - 1) / MPF_MAPPING_PARTS,
                   unit = even < least ? least : even;
    unsigned parts = 0;
    if (bytes > MOST_BYTES || l->value[MPF_MAPPING_RESIDENT] >= bytes - bytes / 8) return;
    for (uint64_t i = 0; i < pages; i += unit) {
        const uint64_t rest = pages - i, n = rest < unit ? rest : unit;
        const long resident = count_pages(l->from + i * page, n);
        if (resident < 0) return;
        l->part[parts++] = (uint8_t)(((uint64_t)resident * UINT8_MAX + n - 1) / n);
    }
    l->value[MPF_MAPPING_PART] = unit * page;
}

/* A filter of the program may kill it for a call that few programs make. */
static void find_all_parts(void)
{
    if (mp_sys3(SYS_prctl, PR_GET_SECCOMP, 0, 0) != 0) return;
    for (struct large *l = r.large; l < r.large + LARGEST; l++)
        if (l->from) find_parts(l);
}

static void note_large(void)
{
    for (const struct large *l = r.large; l < r.large + LARGEST; l++) {
        const uint64_t part = l->value[MPF_MAPPING_PART],
                       parts = part ? (l->value[MPF_MAPPING_BYTES] + part - 1) / part : 0;
        if (l->from)
            mp_epoch_note(MPF_OP_RESIDENT_MAPPING, l->from, l->value, sizeof l->value + parts);
    }
}

/* ---- object files */

/* Returns the end of the object file's data in memory (.bss included) if the mapping begins with
 * the header of one, or 0. */
static uint64_t end_of_object(const struct mapping *m)
{
    enum { HEADERS = 32 };
    Elf64_Ehdr header;
    Elf64_Phdr part[HEADERS];
    uint64_t end = 0;
    if (m->offset || !m->can_read || !m->rss ||
        !mp_sys_peek(mp_process->pid, m->from, &header, sizeof header))
        return 0;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > HEADERS ||
        header.e_phentsize != sizeof *part || header.e_type == ET_CORE ||
        !mp_sys_peek(mp_process->pid, m->from + header.e_phoff, part,
                     header.e_phnum * sizeof *part))
        return 0;
    for (unsigned i = 0; i < header.e_phnum; i++)
        if (part[i].p_type == PT_LOAD && part[i].p_vaddr + part[i].p_memsz > end)
            end = part[i].p_vaddr + part[i].p_memsz;
    return header.e_type == ET_EXEC ? end : m->from + end;
}

static bool is_shared_memory(const struct mapping *m)
{
    static const char *const prefix[] = { "/dev/shm/", "/memfd:", "/SYSV", "/dev/zero" };
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (!strncmp(m->path, prefix[i], strlen(prefix[i]))) return true;
    return false;
}

/* ---- one mapping */

static bool is_own(const struct mapping *m)
{
    const struct mp_range own = mp_own_maps_first(m->from, m->to);
    return own.from == m->from && own.to == m->to;
}

static void count_file(const struct mapping *m)
{
    const uint64_t end = end_of_object(m);
    if (end) {
        r.object = m->inode;
        r.object_end = end;
    }
    if (m->inode == r.object && m->from < r.object_end) {
        r.value[MPF_RESIDENT_DATA] += m->anonymous;
        r.value[MPF_RESIDENT_CODE] += m->rss - m->anonymous;
        add_file(m, MPF_RESIDENT_DATA, m->anonymous);
    } else {
        const unsigned kind = is_shared_memory(m) ? MPF_RESIDENT_SHMEM : MPF_RESIDENT_FILES;
        r.value[MPF_RESIDENT_ANON] += m->anonymous; /* changed pages of a private mapping */
        r.value[kind] += m->rss - m->anonymous;
        add_file(m, kind, m->rss - m->anonymous);
    }
}

/* The .bss of an object file is an anonymous mapping directly above its data. */
static void count_anonymous(struct mapping *m)
{
    if (!strcmp(m->path, "[heap]")) r.value[MPF_RESIDENT_BRK] += m->rss;
    else if (!strcmp(m->path, "[stack]") || is_stack(m)) {
        r.value[MPF_RESIDENT_STACKS] += m->rss;
        r.value[MPF_RESIDENT_STACK_COUNT]++;
    } else if (m->from < r.object_end && r.before.to == m->from && *r.before.path == '/') {
        const uint64_t most = r.object_end - m->from, bss = m->rss < most ? m->rss : most;
        memcpy(m->path, r.before.path, sizeof m->path);
        r.value[MPF_RESIDENT_DATA] += bss;
        r.value[MPF_RESIDENT_ANON] += m->rss - bss;
        m->inode = r.object;
        add_file(m, MPF_RESIDENT_DATA, bss);
    } else {
        r.value[MPF_RESIDENT_ANON] += m->rss;
        add_large(m);
    }
}

static void count(void)
{
    struct mapping *m = &r.at;
    if (m->anonymous > m->rss) m->anonymous = m->rss;
    r.value[MPF_RESIDENT_HUGE] += m->huge;
    if (is_own(m)) r.value[MPF_RESIDENT_MEMPROF] += m->rss;
    else if (m->inode) count_file(m);
    else count_anonymous(m);
    r.before = *m;
}

/* ---- smaps */

/* Skips to the field after the next spaces. */
static const char *next_field(const char *p)
{
    while (*p && *p != ' ') p++;
    while (*p == ' ') p++;
    return p;
}

/* "from-to rwxp offset dev inode   path" */
static void begin_mapping(const char *line)
{
    struct mapping *m = &r.at;
    const char *flags = next_field(line), *offset = next_field(flags);
    const char *inode = next_field(next_field(offset)), *path = next_field(inode);
    *m = (struct mapping){ .offset = mp_text_hex(offset),
                           .inode = mp_text_decimal(inode),
                           .can_read = flags[0] == 'r' };
    mp_text_range(line, &m->from, &m->to);
    const size_t length = strlen(path),
                 cut = length < sizeof m->path ? 0 : length + 1 - sizeof m->path;
    memcpy(m->path, path + cut, length + 1 - cut);
}

static void take_line(const char *line)
{
    static const struct {
        const char *key;
        size_t place;
    } field[] = { { "Rss:", offsetof(struct mapping, rss) },
                  { "Anonymous:", offsetof(struct mapping, anonymous) },
                  { "AnonHugePages:", offsetof(struct mapping, huge) } };
    if (*line < 'A' || *line > 'Z') {
        if (r.at.to) count();
        begin_mapping(line);
        return;
    }
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (!strncmp(line, field[i].key, strlen(field[i].key)))
            *(uint64_t *)((char *)&r.at + field[i].place) = mp_sys_kib(line, field[i].key);
}

/* Takes the complete lines of the text, and returns the bytes of the rest, which is moved to the
 * front. */
static size_t take_lines(char *text, size_t bytes)
{
    char *line = text, *end;
    while ((end = memchr(line, '\n', (size_t)(text + bytes - line)))) {
        *end = 0;
        take_line(line);
        line = end + 1;
    }
    const size_t rest = (size_t)(text + bytes - line);
    memmove(text, line, rest);
    return rest;
}

/* Returns false if the file cannot be read to its end in time. */
static bool read_smaps(void)
{
    static char text[TEXT_BYTES];
    size_t kept = 0;
    long n;
    const int fd = mp_sys_open("/proc/thread-self/smaps", O_RDONLY, 0);
    if (fd < 0) return false;
    r.at = r.before = (struct mapping){ 0 };
    r.object = r.object_end = 0;
    memset(r.value, 0, sizeof r.value);
    memset(r.file, 0, sizeof r.file);
    memset(r.large, 0, sizeof r.large);
    while ((n = mp_sys_read(fd, text + kept, sizeof text - kept)) > 0 && used() < r.deadline)
        if ((kept = take_lines(text, kept + (size_t)n)) == sizeof text) break;
    mp_sys_close(fd);
    if (n == 0 && r.at.to) count();
    return n == 0;
}

static void add_credit(uint64_t now)
{
    r.credit = r.time ? r.credit + (int64_t)((now - r.time) / MP_SAMPLE_COST_FACTOR) : CREDIT_NS;
    if (r.credit > CREDIT_NS) r.credit = CREDIT_NS;
    r.time = now;
}

static bool is_due(uint64_t rss, bool last)
{
    const uint64_t grown = rss > r.largest ? rss - r.largest : 0;
    if (rss < MIN_BYTES || grown < r.largest / (last ? GROWN_AT_END : GROWN)) return false;
    return last || r.credit >= 0 || grown >= r.largest / GROWN_MUCH;
}

void mp_resident_take(uint64_t now, uint64_t rss, bool last)
{
    if (r.pid != mp_process->pid) r.largest = 0; /* a forked child's log begins without readings */
    r.pid = mp_process->pid;
    add_credit(now);
    if (!is_due(rss, last)) return;
    const uint64_t start = used();
    r.deadline = start + READING_NS;
    find_stacks();
    const bool whole = read_smaps();
    if (whole) find_all_parts();
    r.credit -= (int64_t)(used() - start);
    r.largest = rss; /* also if it was given up: the next one would take as long */
    if (!whole) return;
    mp_epoch_note(MPF_OP_SAMPLE_RESIDENT, 0, r.value, sizeof r.value);
    note_largest_file(MPF_RESIDENT_FILES);
    note_largest_file(MPF_RESIDENT_DATA);
    note_largest_file(MPF_RESIDENT_SHMEM);
    note_large();
}
