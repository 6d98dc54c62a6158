/* Reads debug information with libdw.  If the object file is not the one that ran, a debug file is
 * only looked for by build id.  The code here opens debug files itself, because libdwfl would wait
 * for a pipe and trust any file from a server; libdwfl only asks debuginfod servers.
 *
 * The unit (DWARF's term for the code of one source file) of an address is found in .debug_aranges
 * or, because clang writes none, in the ranges of the units.  The functions of a unit are listed at
 * its first use.  Below the DIE (entry) of a function are those of the calls inlined into it. */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "debug.h"
#include "libdw.h"
#include "map.h"

struct span {
    Dwarf_Addr low, high;
    Dwarf_Off die;
};

/* Address ranges of functions or units, sorted by address. */
struct spans {
    struct span *span;
    size_t count, cap;
};

struct unit {
    Dwarf_Off die;
    struct spans functions;
};

/* An entry of the symbol table. */
struct entry {
    uint64_t low, high;
    const char *name;
    bool local;
};

struct mpr_debug {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf *dwarf;
    Dwarf_Addr bias;   /* an address in the process minus the same one in the file */
    struct unit *unit; /* the units that were used, sorted by `die` */
    size_t units, cap;
    struct spans ranges; /* of all units */
    struct entry *table; /* functions, by address */
    size_t entries;
    bool ranges_read, table_read;
    struct mpr_binary binary;       /* only valid while the file is opened */
    bool debug_asked, debug_opened; /* libdwfl has asked for the debug file; it was opened */
    bool has_shared, has_dwarf, too_large;
};

/* ---- debug files */

static int fetch_error; /* the errno if a server did not answer; then no more are asked */

const char *mpr_symbols_not_fetched(void)
{
    return !fetch_error ? NULL : fetch_error == ETIME ? "no answer in time" : strerror(fetch_error);
}

/* Lets libdwfl ask debuginfod servers, with libdebuginfod, which it loads if DEBUGINFOD_URLS is
 * set. Without limits an object file can take minutes on a node without Internet access: three
 * attempts of 90 seconds, and the kernel's time for a connection.  Limits in the environment have
 * precedence. The timeout is for the connection, the maximum time for the whole transfer of a large
 * file. */
static int fetch(Dwfl_Module *module, char **path)
{
    static bool limited;
    if (fetch_error) return -1;
    if (!limited) {
        limited = true;
        setenv("DEBUGINFOD_TIMEOUT", "10", 0);
        setenv("DEBUGINFOD_MAXTIME", "120", 0);
        setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
        if (isatty(STDERR_FILENO)) setenv("DEBUGINFOD_PROGRESS", "1", 0);
    }
    const int fd = mpr_dw.dwfl_standard_find_debuginfo(module, NULL, NULL, 0, NULL, NULL, 0, path);
    switch (-fd) { /* with any other error the server does not have the file */
    case ETIME:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH: fetch_error = -fd; break;
    default: break;
    }
    return fd;
}

/* /usr/lib/debug/.build-id/ab/cdef....debug */
static void debug_path(const uint8_t *id, size_t bytes, char *path, size_t cap)
{
    size_t at = (size_t)snprintf(path, cap, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < bytes && at < cap; i++)
        at += (size_t)snprintf(path + at, cap - at, "%02x", id[i]);
    if (at < cap) snprintf(path + at, cap - at, ".debug");
}

/* Returns the bias of an object whose first byte was mapped at this address. */
static uint64_t find_bias(int fd, uint64_t from)
{
    uint64_t bias = from;
    size_t count;
    Elf *elf = mpr_dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
    for (size_t i = 0; elf && mpr_dw.elf_getphdrnum(elf, &count) == 0 && i < count; i++) {
        GElf_Phdr p;
        if (!mpr_dw.gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD) continue;
        bias = from - (p.p_vaddr & ~UINT64_C(4095));
        break;
    }
    mpr_dw.elf_end(elf);
    return bias;
}

/* Closes the file and returns -1 if it has another build id. */
static int check_build_id(int fd, const uint8_t *id, size_t bytes)
{
    if (fd < 0 || mpr_object_has_build_id(fd, id, bytes) == 1) return fd;
    close(fd);
    return -1;
}

/* Opens the file that .gnu_debuglink names.
 * @root, @folder: before and after the object's folder in the path */
static int open_linked(const char *root, const char *object, const char *folder, const char *link,
                       const struct mpr_binary *o, char **path)
{
    const char *slash = object ? strrchr(object, '/') : NULL;
    if (!slash || !link || strchr(link, '/')) return -1;
    *path = mpr_text_format("%s%.*s/%s%s", root, (int)(slash - object), object, folder, link);
    const int fd = check_build_id(mpr_object_open(*path), o->build_id, o->build_id_bytes);
    if (fd >= 0) return fd;
    free(*path);
    *path = NULL;
    return -1;
}

/* Opens an installed debug file, or one from a debuginfod server. */
static int open_by_id(Dwfl_Module *module, const uint8_t *id, size_t bytes, char **path)
{
    char installed[256];
    if (!bytes) return -1;
    debug_path(id, bytes, installed, sizeof installed);
    const int fd = check_build_id(mpr_object_open(installed), id, bytes);
    if (fd < 0) return check_build_id(fetch(module, path), id, bytes);
    *path = mpr_text_copy(installed);
    return fd;
}

/* libdwfl asks for the debug file, then for the shared file (data of several debug files), whose
 * build id is in the debug file.  If there is no debug file, libdwfl asks again when it needs the
 * symbol table. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **path)
{
    struct mpr_debug *d = *data;
    const struct mpr_binary *o = &d->binary;
    int fd;
    (void)name, (void)base, (void)crc;
    if (d->debug_asked && !d->debug_opened) return -1;
    if (d->debug_opened) {
        const char *shared;
        const void *id;
        Dwarf_Addr bias;
        Dwarf *dwarf = mpr_dw.dwfl_module_getdwarf(module, &bias);
        const ssize_t bytes = dwarf ? mpr_dw.dwelf_dwarf_gnu_debugaltlink(dwarf, &shared, &id) : 0;
        fd = bytes > 0 ? open_by_id(module, id, (size_t)bytes, path) : -1;
    } else {
        fd = open_linked("", file, "", link, o, path);
        if (fd < 0) fd = open_linked("", file, ".debug/", link, o, path);
        if (fd < 0) fd = open_linked("/usr/lib/debug", file, "", link, o, path);
        if (fd < 0) fd = open_by_id(module, o->build_id, o->build_id_bytes, path);
    }
    d->debug_asked = true;
    const bool good = fd >= 0 && mpr_object_unpacks_well(fd);
    d->has_shared = d->debug_opened && good;
    d->debug_opened |= good;
    if (good || fd < 0) return fd;
    d->too_large = true;
    close(fd);
    return -1;
}

/* libdwfl would search the folders of this path before it asks a server. */
static char empty_path[] = "", *debug_folders = empty_path;

static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                    char **path, Elf **elf)
{
    return mpr_dw.dwfl_build_id_find_elf(module, data, name, base, path, elf);
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = find_elf,
    .find_debuginfo = find_debuginfo,
    .debuginfo_path = &debug_folders,
};

static void destroy(struct mpr_debug *d)
{
    for (size_t i = 0; i < d->units; i++) free(d->unit[i].functions.span);
    free(d->unit);
    free(d->ranges.span);
    free(d->table);
    if (d->dwfl) mpr_dw.dwfl_end(d->dwfl);
    free(d);
}

/* Opens an object file for libdwfl, which closes the descriptor.  A debug file that needs a shared
 * file is not used without it, because libdw would look for that at any path in the debug file. */
static struct mpr_debug *load(const char *path, int fd, const struct mpr_binary *o)
{
    void **data;
    const char *name;
    const void *id;
    struct mpr_debug *d = mpr_alloc(1, sizeof *d);
    d->binary = *o;
    d->too_large = !mpr_object_unpacks_well(fd);
    d->dwfl = mpr_dw.dwfl_begin(&callbacks);
    if (d->dwfl)
        d->module = mpr_dw.dwfl_report_elf(d->dwfl, path, path, fd, find_bias(fd, o->from), false);
    if (!d->module) close(fd);
    if (!d->module || mpr_dw.dwfl_report_end(d->dwfl, NULL, NULL) != 0) {
        destroy(d);
        return NULL;
    }
    mpr_dw.dwfl_module_info(d->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
    *data = d;
    if (d->too_large) return d;
    d->dwarf = mpr_dw.dwfl_module_getdwarf(d->module, &d->bias); /* may find it too large */
    if (!d->dwarf || d->too_large) return d;
    const bool needs_shared = mpr_dw.dwelf_dwarf_gnu_debugaltlink(d->dwarf, &name, &id) > 0;
    d->has_dwarf = !needs_shared || d->has_shared;
    return d;
}

static struct mpr_debug *open_guarded(const struct mpr_binary *o, enum mpr_symbols_state *state)
{
    char by_id[256];
    const char *path = o->path;
    mpr_dw.elf_version(EV_CURRENT);
    int fd = mpr_object_open(path);
    const int same = fd >= 0 ? mpr_object_has_build_id(fd, o->build_id, o->build_id_bytes) : 0;
    const bool large = fd < 0 && errno == EFBIG;
    *state = large || same < 0 ? MPR_SYMBOLS_UNREADABLE
             : fd < 0          ? MPR_SYMBOLS_MISSING
                               : MPR_SYMBOLS_OTHER;
    if (fd >= 0 && same != 1) {
        close(fd);
        fd = -1;
    }
    if (fd < 0 && o->build_id_bytes) {
        debug_path(o->build_id, o->build_id_bytes, by_id, sizeof by_id);
        path = by_id;
        fd = mpr_object_open(path);
    }
    if (fd < 0) return NULL;
    struct mpr_debug *d = load(path, fd, o);
    *state = !d ? MPR_SYMBOLS_UNREADABLE : d->too_large ? MPR_SYMBOLS_TOO_LARGE : MPR_SYMBOLS_GOOD;
    return d;
}

/* This user or root may truncate a file that libelf has mapped, for example to install a package.
 */
struct mpr_debug *mpr_debug_open(const struct mpr_binary *o, enum mpr_symbols_state *state)
{
    if (!mpr_dw_load()) {
        *state = MPR_SYMBOLS_NOT_INSTALLED;
        return NULL;
    }
    mpr_map_guard();
    struct mpr_debug *d = open_guarded(o, state);
    if (mpr_map_unguard()) return d;
    *state = MPR_SYMBOLS_UNREADABLE;
    mpr_debug_close(d);
    return NULL;
}

void mpr_debug_close(struct mpr_debug *d)
{
    if (!d) return;
    mpr_map_guard();
    destroy(d);
    mpr_map_unguard();
}

/* ---- spans of addresses */

enum { SPANS_MAX = 1 << 22 };

static void add_ranges(struct spans *to, Dwarf_Die *die)
{
    Dwarf_Addr base;
    struct span span = { .die = mpr_dw.dwarf_dieoffset(die) };
    for (ptrdiff_t at = 0; to->count < SPANS_MAX &&
                           (at = mpr_dw.dwarf_ranges(die, at, &base, &span.low, &span.high)) > 0;) {
        *MPR_ADD(to->span, to->count, to->cap) = span;
    }
}

MPR_COMPARE(by_low, struct span, mpr_compare(a->low, b->low))

static void sort_spans(struct spans *s)
{
    if (s->count) qsort(s->span, s->count, sizeof *s->span, by_low);
}

static bool die_at(const struct mpr_debug *d, const struct spans *s, Dwarf_Addr pc, Dwarf_Die *die)
{
    const size_t low = MPR_COUNT_FIRST(i, s->count, s->span[i].low <= pc);
    if (!low || pc >= s->span[low - 1].high) return false;
    return mpr_dw.dwarf_offdie(d->dwarf, s->span[low - 1].die, die) != NULL;
}

/* ---- the unit of an address */

static bool unit_at(struct mpr_debug *d, uint64_t pc, Dwarf_Die *cu)
{
    Dwarf_Addr bias;
    const Dwarf_Die *found = mpr_dw.dwfl_module_addrdie(d->module, pc, &bias);
    if (found) {
        *cu = *found;
        return true;
    }
    if (!d->ranges_read) {
        d->ranges_read = true;
        for (Dwarf_Die *unit = NULL; (unit = mpr_dw.dwfl_module_nextcu(d->module, unit, &bias));)
            add_ranges(&d->ranges, unit);
        sort_spans(&d->ranges);
    }
    return die_at(d, &d->ranges, pc - d->bias, cu);
}

/* ---- the functions of a unit */

/* Moves to the next sibling.  One at a lower offset is damage, and could lead to an endless loop.
 */
static bool next_sibling(Dwarf_Die *die)
{
    const Dwarf_Off here = mpr_dw.dwarf_dieoffset(die);
    return mpr_dw.dwarf_siblingof(die, die) == 0 && mpr_dw.dwarf_dieoffset(die) > here;
}

/* Adds the functions of a unit, and those in its namespaces and classes. */
static void add_functions(struct spans *functions, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth > 32 || mpr_dw.dwarf_child(parent, &die) != 0) return;
    do {
        switch (mpr_dw.dwarf_tag(&die)) {
        case DW_TAG_subprogram: add_ranges(functions, &die); break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type: add_functions(functions, &die, depth + 1); break;
        default: break;
        }
    } while (next_sibling(&die) && functions->count < SPANS_MAX);
}

static const struct spans *functions_of(struct mpr_debug *d, Dwarf_Die *cu)
{
    const Dwarf_Off die = mpr_dw.dwarf_dieoffset(cu);
    const size_t low = MPR_COUNT_FIRST(i, d->units, d->unit[i].die < die);
    if (low < d->units && d->unit[low].die == die) return &d->unit[low].functions;
    MPR_GROW(d->unit, d->units, d->cap);
    struct unit *u = &d->unit[low];
    memmove(u + 1, u, (d->units++ - low) * sizeof *u);
    *u = (struct unit){ .die = die };
    add_functions(&u->functions, cu, 0);
    sort_spans(&u->functions);
    return &u->functions;
}

/* ---- inlined calls */

enum { MAX_INLINED = 64 };

static bool find_child(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *out)
{
    if (mpr_dw.dwarf_child(parent, out) != 0) return false;
    do {
        const int tag = mpr_dw.dwarf_tag(out);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
            mpr_dw.dwarf_haspc(out, pc) > 0)
            return true;
    } while (next_sibling(out));
    return false;
}

/* Lists the function and the inlined calls that contain an address, outermost first.  Returns their
 * number. */
static int list_calls(Dwarf_Die function, Dwarf_Addr pc, Dwarf_Die call[MAX_INLINED])
{
    int count = 0;
    Dwarf_Die at = function, child;
    call[count++] = function;
    while (count < MAX_INLINED && find_child(&at, pc, &child)) {
        if (mpr_dw.dwarf_tag(&child) == DW_TAG_inlined_subroutine) call[count++] = child;
        at = child;
    }
    return count;
}

/* Returns the mangled name, which says more than the name in the source.  A linkage name that is
 * not mangled says less ("__GI_abort" for abort). */
static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *linked =
        mpr_dw.dwarf_formstring(mpr_dw.dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!linked)
        linked = mpr_dw.dwarf_formstring(
            mpr_dw.dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    const bool mangled = linked && (strncmp(linked, "_Z", 2) == 0 || strncmp(linked, "_R", 2) == 0);
    const char *name = mangled ? linked : mpr_dw.dwarf_diename(die);
    return name ? name : linked ? linked : "(no name)";
}

static unsigned number_of(Dwarf_Die *die, unsigned what)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    return mpr_dw.dwarf_formudata(mpr_dw.dwarf_attr(die, what, &attribute), &number) == 0
               ? (unsigned)number
               : 0;
}

/* Returns the file and line from which an inlined function is called. */
static const char *find_call_line(Dwarf_Die *cu, Dwarf_Die *inlined, unsigned *line)
{
    Dwarf_Files *files;
    size_t count;
    *line = number_of(inlined, DW_AT_call_line);
    if (mpr_dw.dwarf_getsrcfiles(cu, &files, &count) != 0) return NULL;
    const unsigned file = number_of(inlined, DW_AT_call_file);
    return file < count ? mpr_dw.dwarf_filesrc(files, file, NULL, NULL) : NULL;
}

/* Returns the file and line of an address. */
static const char *find_line(Dwarf_Die *cu, Dwarf_Addr pc, unsigned *line)
{
    int number = 0;
    Dwarf_Line *found = mpr_dw.dwarf_getsrc_die(cu, pc);
    if (found) mpr_dw.dwarf_lineno(found, &number);
    *line = (unsigned)number;
    return found ? mpr_dw.dwarf_linesrc(found, NULL, NULL) : NULL;
}

/* ---- the symbol table */

MPR_COMPARE(by_address, struct entry,
            mpr_compare(a->low, b->low) ?: mpr_compare(a->local, b->local))

/* The table is sorted, because libdwfl would search all of it for each address. */
static void read_table(struct mpr_debug *d)
{
    const int count = mpr_dw.dwfl_module_getsymtab(d->module);
    d->table_read = true;
    if (count > 0) d->table = mpr_alloc((size_t)count, sizeof *d->table);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name =
            mpr_dw.dwfl_module_getsym_info(d->module, i, &symbol, &address, NULL, NULL, NULL);
        const int type = GELF_ST_TYPE(symbol.st_info);
        if (!name || !*name || symbol.st_shndx == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
            continue;
        d->table[d->entries++] = (struct entry){ address, address + symbol.st_size, name,
                                                 GELF_ST_BIND(symbol.st_info) == STB_LOCAL };
    }
    if (d->entries) qsort(d->table, d->entries, sizeof *d->table, by_address);
}

/* Returns the first of several names at an address.  A symbol without a size ends at the next. */
static const char *find_symbol(struct mpr_debug *d, uint64_t pc)
{
    if (!d->table_read) read_table(d);
    size_t low = MPR_COUNT_FIRST(i, d->entries, d->table[i].low <= pc);
    while (low > 1 && d->table[low - 2].low == d->table[low - 1].low) low--;
    const struct entry *e = low ? &d->table[low - 1] : NULL;
    return e && (pc < e->high || e->low == e->high) ? e->name : NULL;
}

/* The unit from libdwfl may not contain the address, which may be between two functions; then its
 * file and line are not used. */
static void look(struct mpr_debug *d, uint64_t pc, mpr_debug_each *each, void *arg)
{
    const Dwarf_Addr in_file = pc - d->bias;
    Dwarf_Die cu, function, call[MAX_INLINED];
    unsigned line = 0;
    const bool has_unit = d->has_dwarf && unit_at(d, pc, &cu);
    if (has_unit && die_at(d, functions_of(d, &cu), in_file, &function)) {
        const char *file = find_line(&cu, in_file, &line);
        for (int i = list_calls(function, in_file, call); i-- > 0;) {
            each(arg, name_of(&call[i]), file, line);
            if (i) file = find_call_line(&cu, &call[i], &line);
        }
        return;
    }
    const char *name = find_symbol(d, pc);
    const bool in_unit = name && has_unit && mpr_dw.dwarf_haspc(&cu, in_file) > 0;
    const char *file = in_unit ? find_line(&cu, in_file, &line) : NULL;
    if (name) each(arg, name, file, line);
}

bool mpr_debug_look(struct mpr_debug *d, uint64_t pc, mpr_debug_each *each, void *arg)
{
    mpr_map_guard();
    look(d, pc, each, arg);
    return mpr_map_unguard();
}
