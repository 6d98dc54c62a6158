/* Return addresses of this program have the names of functions. It is built with -g, and inlined()
 * is inlined. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef MEMPROF_LIBDW
#include "libdw.h"
#endif
#include "debug.h"
#include "symbols.h"

static struct mpr_binary own;
static uint8_t build_id[64];

static void find_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * p,
                          struct mpr_binary *out, uint8_t id[64])
{
    for (const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
         at < end;) {
        const ElfW(Nhdr) *n = (const void *)at;
        const char *data = at + sizeof *n + ((n->n_namesz + 3u) & ~3u);
        if (n->n_type == NT_GNU_BUILD_ID) memcpy(id, data, out->build_id_bytes = n->n_descsz);
        at = data + ((n->n_descsz + 3u) & ~3u);
    }
}

static struct mpr_binary describe(const struct dl_phdr_info *info, const char *path, uint8_t id[64])
{
    struct mpr_binary out = { .path = path, .build_id = id, .from = info->dlpi_addr };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && p->p_offset == 0) out.from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_NOTE) find_build_id(info, p, &out, id);
    }
    return out;
}

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    own = describe(info, "/proc/self/exe", build_id);
    return 1; /* the first object is the program */
}

static int begin(void **state)
{
#ifdef MEMPROF_LIBDW
    assert_true(mpr_dw_load()); /* for tests that call debug.h's functions directly */
#endif
    dl_iterate_phdr(find_own, NULL);
    *state = mpr_symbols_new(NULL, NULL);
    return *state ? 0 : -1;
}

static int end(void **state)
{
    mpr_symbols_free(*state);
    return 0;
}

static const struct mpr_symbol *look(void **state, uint32_t number, const struct mpr_binary *binary,
                                     const void *pc, size_t *count)
{
    return mpr_symbols_find(*state, number, binary, (uint64_t)(uintptr_t)pc, count);
}

static void *volatile here;
#if defined(__x86_64__)
#define ADDRESS_OF_LABEL "lea 0f(%%rip), %0"
#elif defined(__aarch64__)
#define ADDRESS_OF_LABEL "adr %0, 0f"
#endif
/* Lines that the test counts.
 * clang-format off */
// clang-format off
enum { LINE_OF_INLINED = __LINE__ + 4, LINE_OF_CALL = __LINE__ + 9 };

static inline __attribute__((always_inline)) void inlined(void)
{
    __asm__ volatile(ADDRESS_OF_LABEL "\n\tnop\n0:\n\tnop" : "=r"(here));
}

static __attribute__((noinline)) void outer(void)
{
    inlined();
}
// clang-format on

static const char *file_of(const struct mpr_symbol *symbol)
{
    const char *slash = symbol->file ? strrchr(symbol->file, '/') : NULL;
    return slash ? slash + 1 : "";
}

#ifdef MEMPROF_LIBDW

static void an_inlined_call_is_a_separate_frame(void **state)
{
    size_t count;
    outer();
    const struct mpr_symbol *symbol = look(state, 1, &own, here, &count);
    assert_int_equal(mpr_symbols_state(*state, 1), MPR_SYMBOLS_GOOD);
    assert_int_equal(count, 2);
    assert_string_equal(symbol[0].function, "inlined");
    assert_string_equal(file_of(&symbol[0]), "test_symbols.c");
    assert_int_equal(symbol[0].line, LINE_OF_INLINED);
    assert_string_equal(symbol[1].function, "outer");
    assert_int_equal(symbol[1].line, LINE_OF_CALL);
    assert_ptr_equal(look(state, 1, &own, here, &count), symbol);
    assert_int_equal(count, 2);
}

/* The instruction before the return address counts, because the code after a call that never
 * returns belongs to another function. */
static void the_call_is_before_the_return_address(void **state)
{
    size_t count;
    const struct mpr_symbol *symbol = look(state, 1, &own, (const char *)(uintptr_t)outer, &count);
    assert_true(!count || strcmp(symbol[count - 1].function, "outer") != 0);
    symbol = look(state, 1, &own, (const char *)(uintptr_t)outer + 1, &count);
    assert_string_equal(symbol[count - 1].function, "outer");
}

/* libdwfl assigns the code between two functions of a unit to that unit. Here it is after main, for
 * which gcc has a separate section. */
static void code_between_functions_has_no_line_numbers(void **state)
{
    extern const char behind_main[];
    size_t count;
    const struct mpr_symbol *symbol = look(state, 1, &own, behind_main + 1, &count);
    assert_int_equal(count, 1);
    assert_string_equal(symbol->function, "behind_main");
    assert_null(symbol->file);
}

static void a_file_with_another_build_id_gives_no_names(void **state)
{
    size_t count;
    struct mpr_binary other = own;
    uint8_t id[64];
    memcpy(id, build_id, sizeof id);
    id[0] ^= 1;
    other.build_id = id;
    look(state, 2, &other, here, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(*state, 2), MPR_SYMBOLS_OTHER);
}

static void missing_files_give_no_names(void **state)
{
    size_t count;
    const struct mpr_binary gone = { .path = "/nowhere/libgone.so", .from = own.from },
                            outside = { .path = "/etc/passwd", .from = own.from };
    look(state, 3, &gone, here, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(*state, 3), MPR_SYMBOLS_MISSING);
    look(state, 4, &outside, here, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(*state, 4), MPR_SYMBOLS_UNREADABLE);
    assert_int_equal(mpr_symbols_state(*state, 5), MPR_SYMBOLS_NOT_ASKED);
}

/* Uses its debug file if that is installed, otherwise its dynamic symbols. */
static int look_into_the_c_library(struct dl_phdr_info *info, size_t size, void *state)
{
    size_t count;
    uint8_t id[64];
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so")) return 0;
    const struct mpr_binary libc = describe(info, info->dlpi_name, id);
    const struct mpr_symbol *symbol =
        look(state, 6, &libc, (const char *)(uintptr_t)a64l + 1, &count);
    assert_true(count >= 1);
    assert_string_equal(symbol[count - 1].function, "a64l");
    return 1;
}

static void the_c_librarys_functions_have_names(void **state)
{
    assert_int_equal(dl_iterate_phdr(look_into_the_c_library, state), 1);
}

static void a_file_with_a_build_id_that_the_log_does_not_have_gives_no_names(void **state)
{
    size_t count;
    const struct mpr_binary unknown = { .path = "/proc/self/exe", .from = own.from };
    look(state, 7, &unknown, here, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(*state, 7), MPR_SYMBOLS_OTHER);
}

static void is_missing(void **state, uint32_t number, const char *path)
{
    size_t count;
    const struct mpr_binary object = {
        .path = path, .build_id = build_id, .build_id_bytes = 20, .from = own.from
    };
    look(state, number, &object, here, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(*state, number), MPR_SYMBOLS_MISSING);
}

/* A folder with a pipe. Opening the pipe would wait for a writer. */
static char folder[] = "/tmp/symbols.XXXXXX", pipe_path[sizeof folder + 8];

static int make_pipe(void **state)
{
    (void)state;
    alarm(20);
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    if (!mkdtemp(folder)) return -1;
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    return mkfifo(pipe_path, 0600);
}

static int remove_pipe(void **state)
{
    (void)state;
    alarm(0);
    return unlink(pipe_path) | rmdir(folder);
}

static void a_pipe_is_not_opened(void **state) { is_missing(state, 8, pipe_path); }

/* Reading these files may have effects, or wait. */
static void the_kernels_files_are_not_opened(void **state)
{
    is_missing(state, 9, "/proc/self/maps");
}

static Elf64_Ehdr head(uint16_t sections, uint64_t offset)
{
    return (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof(Elf64_Ehdr),
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = sections,
                         .e_shoff = offset };
}

/* Writes an object file without a build ID that has a link to a debug file. */
static void write_object(const char *path, const char *link)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr load;
        Elf64_Shdr section[3];
        char link[128], names[32];
    } file = {
        .head = head(3, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)),
        .load = { .p_type = PT_LOAD, .p_flags = PF_R, .p_align = 4096 },
        .names = "\0.gnu_debuglink\0.shstrtab",
    };
    file.head.e_phentsize = sizeof file.load;
    file.head.e_phnum = 1;
    file.head.e_phoff = sizeof file.head;
    file.head.e_shstrndx = 2;
    file.load.p_filesz = file.load.p_memsz = sizeof file;
    for (int i = 1; i < 3; i++)
        file.section[i] = (Elf64_Shdr){ .sh_name = i == 1 ? 1 : 16,
                                        .sh_type = i == 1 ? SHT_PROGBITS : SHT_STRTAB,
                                        .sh_addralign = 4,
                                        .sh_offset = (uint64_t)((i == 1 ? file.link : file.names) -
                                                                (char *)&file),
                                        .sh_size = i == 1 ? sizeof file.link : sizeof file.names };
    snprintf(file.link, sizeof file.link - 8, "%s", link);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, &file, sizeof file), sizeof file);
    close(fd);
}

/* Two ways to leave the folder of debug files: by the link's name, and by that of the object. */
static void a_pipe_as_debug_file_is_not_opened(void **state)
{
    size_t count;
    char path[64], around[96], up[64];
    snprintf(path, sizeof path, "%s/object", folder);
    snprintf(around, sizeof around, "/../../..%s", path);
    snprintf(up, sizeof up, "../../..%s", pipe_path);
    const struct {
        const char *path, *link;
    } way[] = { { path, "pipe" }, { path, up }, { around, "pipe" } };
    for (uint32_t i = 0; i < 3; i++) {
        const struct mpr_binary object = { .path = way[i].path, .from = own.from };
        write_object(path, way[i].link);
        look(state, 10 + i, &object, (void *)(uintptr_t)(own.from + 64), &count);
        assert_int_equal(mpr_symbols_state(*state, 10 + i), MPR_SYMBOLS_GOOD);
        assert_int_equal(count, 0);
    }
    unlink(path);
}

static void copy_own(const char *path)
{
    char part[4096];
    ssize_t bytes;
    const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
              to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while ((bytes = read(from, part, sizeof part)) > 0)
        assert_int_equal(write(to, part, (size_t)bytes), bytes);
    close(from);
    close(to);
}

/* The pages of the file are removed before most of them were read. The test runs first because the
 * handler of SIGBUS is installed with the first open object, and each test has cmocka's. */
static void a_file_truncated_while_it_is_read_does_not_end_the_process(void **state)
{
    char path[64];
    size_t count;
    struct mpr_binary copy = own;
    void *symbols = mpr_symbols_new(NULL, NULL);
    (void)state;
    snprintf(path, sizeof path, "%s/copy", folder);
    copy_own(copy.path = path);
    outer();
    look(&symbols, 1, &copy, here, &count);
    assert_int_equal(count, 2);
    assert_int_equal(truncate(path, 0), 0);
    look(&symbols, 1, &copy, (const char *)(uintptr_t)copy_own + 1, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(symbols, 1), MPR_SYMBOLS_UNREADABLE);
    look(&symbols, 1, &copy, here, &count);
    assert_int_equal(count, 0);
    mpr_symbols_free(symbols);
    unlink(path);
}

/* ---- files that other users may change */

static bool is_copied(const char *path)
{
    struct stat file, opened;
    const int fd = mpr_object_open(path);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &opened) | stat(path, &file), 0);
    assert_int_equal(opened.st_size, file.st_size);
    close(fd);
    return opened.st_dev != file.st_dev || opened.st_ino != file.st_ino;
}

static void files_that_others_may_change_are_copied(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/copy", folder);
    copy_own(path);
    assert_false(is_copied(path));
    chmod(path, 0755);
    assert_false(is_copied(path));
    for (mode_t more = 020; more; more = more == 020 ? 002 : 0) {
        chmod(path, 0600 | more);
        assert_true(is_copied(path));
    }
    chmod(path, 0600);
    if (geteuid() == 0) { /* only root can give a file to another user */
        assert_int_equal(chown(path, 4242, (gid_t)-1), 0);
        assert_true(is_copied(path));
    }
    unlink(path);
}

static void overwrite(const char *path)
{
    static char part[4096];
    struct stat st;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    memset(part, 'A', sizeof part);
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 0; at < st.st_size; at += (off_t)sizeof part)
        assert_int_equal(pwrite(fd, part, sizeof part, at), sizeof part);
    close(fd);
}

static void a_file_changed_by_another_user_keeps_its_first_content(void **state)
{
    char path[64];
    size_t copied;
    struct mpr_binary copy = own;
    void *symbols = mpr_symbols_new(NULL, NULL);
    (void)state;
    snprintf(path, sizeof path, "%s/copy", folder);
    copy_own(copy.path = path);
    chmod(path, 0620);
    outer();
    look(&symbols, 1, &copy, here, &copied);
    assert_int_equal(copied, 2);
    overwrite(path);
    const struct mpr_symbol *symbol =
        look(&symbols, 1, &copy, (const char *)(uintptr_t)copy_own + 1, &copied);
    assert_int_equal(copied, 1);
    assert_string_equal(symbol->function, "copy_own");
    const int now = mpr_object_open(path); /* copied again, because it is another file now */
    assert_int_equal(mpr_object_has_build_id(now, build_id, own.build_id_bytes), -1);
    close(now);
    mpr_symbols_free(symbols);
    unlink(path);
}

/* The second log has the object at another address. If it looked for the file, it would find
 * none. */
static void an_object_is_opened_once_for_all_logs_of_a_run(void **state)
{
    enum { APART = 0x1000000 };
    char path[64];
    size_t count;
    struct mpr_binary object = own;
    (void)state;
    snprintf(path, sizeof path, "%s/shared", folder);
    copy_own(object.path = path);
    outer();
    void *first = mpr_symbols_new(NULL, NULL), *second = mpr_symbols_new(NULL, NULL);
    look(&first, 1, &object, here, &count);
    assert_int_equal(count, 2);
    mpr_symbols_free(first);
    unlink(path);
    object.from += APART;
    const struct mpr_symbol *symbol = look(&second, 1, &object, (const char *)here + APART, &count);
    assert_int_equal(mpr_symbols_state(second, 1), MPR_SYMBOLS_GOOD);
    assert_int_equal(count, 2);
    assert_string_equal(symbol[1].function, "outer");
    mpr_symbols_free(second);
}

/* The log of every rank names it. */
static void a_file_is_copied_once(void **state)
{
    char path[64];
    struct stat first, second;
    (void)state;
    snprintf(path, sizeof path, "%s/copy", folder);
    copy_own(path);
    chmod(path, 0620);
    const int a = mpr_object_open(path), b = mpr_object_open(path);
    assert_int_equal(fstat(a, &first) | fstat(b, &second), 0);
    assert_true(first.st_ino == second.st_ino);
    close(a);
    close(b);
    unlink(path);
}

/* A file that belongs to the current user needs no copy, whatever its size. */
static void a_file_that_is_too_large_to_be_copied_is_skipped(void **state)
{
    char path[64];
    size_t found;
    const struct mpr_binary large = { .path = path, .from = own.from };
    snprintf(path, sizeof path, "%s/copy", folder);
    copy_own(path);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_false(is_copied(path));
    chmod(path, 0620);
    assert_int_equal(mpr_object_open(path), -1);
    assert_int_equal(errno, EFBIG);
    look(state, 20, &large, here, &found);
    assert_int_equal(mpr_symbols_state(*state, 20), MPR_SYMBOLS_UNREADABLE);
    unlink(path);
}

/* Returns an object file with one compressed section that has this uncompressed size in its
 * head. */
static int object_that_unpacks_to(uint64_t bytes)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr section[2];
        Elf64_Chdr compressed;
        char data[1000];
    } file = {
        .head = head(2, sizeof(Elf64_Ehdr)),
        .compressed = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = bytes, .ch_addralign = 1 },
    };
    file.section[1] =
        (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
                      .sh_flags = SHF_COMPRESSED,
                      .sh_addralign = 1,
                      .sh_offset = (uint64_t)((char *)&file.compressed - (char *)&file),
                      .sh_size = sizeof file.compressed + sizeof file.data };
    const int fd = memfd_create("object", 0);
    assert_int_equal(write(fd, &file, sizeof file), sizeof file);
    return fd;
}

static void sections_that_unpack_to_too_much_are_detected(void **state)
{
    (void)state;
    const int good = object_that_unpacks_to(10000), bad = object_that_unpacks_to(UINT64_C(4) << 30);
    assert_true(mpr_object_unpacks_well(good));
    assert_false(mpr_object_unpacks_well(bad));
    close(good);
    close(bad);
}

#else

static void without_libdw_nothing_has_a_name(void **state)
{
    size_t count;
    outer();
    look(state, 1, &own, here, &count);
    assert_int_equal(count, 0);
    assert_int_equal(mpr_symbols_state(*state, 1), MPR_SYMBOLS_NOT_BUILT);
    assert_int_equal(LINE_OF_INLINED + 5, LINE_OF_CALL);
    assert_string_equal(file_of(&(struct mpr_symbol){ NULL, "a/b", 1 }), "b");
}

#endif

#if __has_attribute(no_reorder) /* behind_main must follow it */
__attribute__((no_reorder))
#endif
int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef MEMPROF_LIBDW
        cmocka_unit_test_setup_teardown(a_file_truncated_while_it_is_read_does_not_end_the_process,
                                        make_pipe, remove_pipe),
        cmocka_unit_test(an_inlined_call_is_a_separate_frame),
        cmocka_unit_test(the_call_is_before_the_return_address),
        cmocka_unit_test(code_between_functions_has_no_line_numbers),
        cmocka_unit_test(a_file_with_another_build_id_gives_no_names),
        cmocka_unit_test(missing_files_give_no_names),
        cmocka_unit_test(the_c_librarys_functions_have_names),
        cmocka_unit_test(a_file_with_a_build_id_that_the_log_does_not_have_gives_no_names),
        cmocka_unit_test_setup_teardown(a_pipe_is_not_opened, make_pipe, remove_pipe),
        cmocka_unit_test(the_kernels_files_are_not_opened),
        cmocka_unit_test_setup_teardown(a_pipe_as_debug_file_is_not_opened, make_pipe, remove_pipe),
        cmocka_unit_test_setup_teardown(files_that_others_may_change_are_copied, make_pipe,
                                        remove_pipe),
        cmocka_unit_test_setup_teardown(a_file_changed_by_another_user_keeps_its_first_content,
                                        make_pipe, remove_pipe),
        cmocka_unit_test_setup_teardown(an_object_is_opened_once_for_all_logs_of_a_run, make_pipe,
                                        remove_pipe),
        cmocka_unit_test_setup_teardown(a_file_is_copied_once, make_pipe, remove_pipe),
        cmocka_unit_test_setup_teardown(a_file_that_is_too_large_to_be_copied_is_skipped, make_pipe,
                                        remove_pipe),
        cmocka_unit_test(sections_that_unpack_to_too_much_are_detected),
#else
        cmocka_unit_test(without_libdw_nothing_has_a_name),
#endif
    };
    return cmocka_run_group_tests(tests, begin, end);
}

__asm__(".pushsection .text.startup\n.type behind_main, %function\nbehind_main: nop\n"
        ".size behind_main, 1\n.popsection");
