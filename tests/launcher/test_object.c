/* The launcher's ELF reader finds the facts of this program, and reads damaged copies of it without
 * a crash. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "object.h"

#define HEADERS 4096u /* size of the ELF header and the segments' headers */

static uint8_t *original;
static size_t bytes;
static char copy[] = "/tmp/memprof-object.XXXXXX";
static int copy_fd;

static int setup(void **state)
{
    (void)state;
    struct stat st;
    const int fd = open("/proc/self/exe", O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    bytes = (size_t)st.st_size;
    original = malloc(bytes);
    assert_int_equal(read(fd, original, bytes), (ssize_t)bytes);
    close(fd);
    copy_fd = mkstemp(copy);
    assert_int_equal(pwrite(copy_fd, original, bytes, 0), (ssize_t)bytes);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(copy_fd);
    unlink(copy);
    free(original);
    return 0;
}

/* Calls all functions of the reader. */
static void ask(void)
{
    struct mpl_object o;
    mpl_object_open(&o, copy);
    mpl_object_needs(&o, "libnothing");
    mpl_object_close(&o);
}

static void a_dynamic_program_names_what_it_needs(void **state)
{
    (void)state;
    struct mpl_object o;
    mpl_object_open(&o, copy);
    assert_int_equal(o.kind, MPL_OBJECT_DYNAMIC);
    assert_true(mpl_object_needs(&o, "libcmocka"));
    assert_true(mpl_object_needs(&o, "libc.so"));
    assert_false(mpl_object_needs(&o, "cmocka"));
    assert_false(mpl_object_needs(&o, "libjemalloc"));
    mpl_object_close(&o);
}

static void other_kinds_of_files_are_recognised(void **state)
{
    (void)state;
    struct mpl_object o;
    mpl_object_open(&o, "/nonexistent");
    assert_int_equal(o.kind, MPL_OBJECT_UNREADABLE);
    mpl_object_open(&o, "/etc/passwd");
    assert_int_equal(o.kind, MPL_OBJECT_OTHER);
    mpl_object_close(&o);
    const uint8_t class32 = ELFCLASS32;
    assert_int_equal(pwrite(copy_fd, &class32, 1, EI_CLASS), 1);
    mpl_object_open(&o, copy);
    assert_int_equal(o.kind, MPL_OBJECT_FOREIGN);
    mpl_object_close(&o);
    assert_int_equal(pwrite(copy_fd, original + EI_CLASS, 1, EI_CLASS), 1);
    assert_int_equal(ftruncate(copy_fd, sizeof(Elf64_Ehdr)), 0);
    mpl_object_open(&o, copy);
    assert_int_equal(o.kind, MPL_OBJECT_OTHER);
    mpl_object_close(&o);
    assert_int_equal(pwrite(copy_fd, original, bytes, 0), bytes);
}

/* Replaces the interpreter's name by another one of at most its length. */
static enum mpl_object_kind kind_with_loader(const char *loader)
{
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)original;
    const Elf64_Phdr *p = (const Elf64_Phdr *)(original + e->e_phoff);
    struct mpl_object o;
    while (p->p_type != PT_INTERP) p++;
    assert_true(strlen(loader) < p->p_filesz);
    assert_int_equal(pwrite(copy_fd, loader, strlen(loader) + 1, (off_t)p->p_offset),
                     strlen(loader) + 1);
    mpl_object_open(&o, copy);
    const enum mpl_object_kind kind = o.kind;
    mpl_object_close(&o);
    assert_int_equal(pwrite(copy_fd, original, bytes, 0), bytes);
    return kind;
}

static void a_musl_program_is_recognised_by_its_loader(void **state)
{
    (void)state;
    assert_int_equal(kind_with_loader("/lib/ld-musl-x86_64.so.1"), MPL_OBJECT_MUSL);
    assert_int_equal(kind_with_loader("ld-musl-arm.so.1"), MPL_OBJECT_MUSL);
    assert_int_equal(kind_with_loader("/ld-musl-1/ld.so"), MPL_OBJECT_DYNAMIC);
}

/* The last page of a truncated file ends at the end of the file. A reader that trusted a length
 * would read beyond the mapping. */
static void a_flipped_byte_anywhere_in_the_headers_does_no_harm(void **state)
{
    (void)state;
    for (size_t at = 0; at < HEADERS && at < bytes; at++) {
        const uint8_t flipped = original[at] ^ 0xff;
        assert_int_equal(pwrite(copy_fd, &flipped, 1, (off_t)at), 1);
        ask();
        assert_int_equal(pwrite(copy_fd, original + at, 1, (off_t)at), 1);
    }
}

static void a_file_cut_anywhere_does_no_harm(void **state)
{
    (void)state;
    for (size_t length = bytes; length > HEADERS; length -= length > 2 * HEADERS ? 509 : 61) {
        assert_int_equal(ftruncate(copy_fd, (off_t)length), 0);
        ask();
    }
    for (size_t length = HEADERS; length-- > 0;) {
        assert_int_equal(ftruncate(copy_fd, (off_t)length), 0);
        ask();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dynamic_program_names_what_it_needs),
        cmocka_unit_test(other_kinds_of_files_are_recognised),
        cmocka_unit_test(a_musl_program_is_recognised_by_its_loader),
        cmocka_unit_test(a_flipped_byte_anywhere_in_the_headers_does_no_harm),
        cmocka_unit_test(a_file_cut_anywhere_does_no_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
