/* SQLite writes to the file that was opened, not to another one with its name. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exports.h"

static char folder[] = "/tmp/database.XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

/* Another user who may write to the folder can replace the file between two calls. */
static void sqlite_writes_to_the_descriptor_and_not_to_the_name(void **state)
{
    char owned[64], other[64];
    sqlite3 *db;
    (void)state;
    snprintf(owned, sizeof owned, "%s/mine", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    const int fd = open(owned, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
              others = open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(mpr_database_file_open(other, fd, &db, SQLITE_OPEN_READWRITE), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode=OFF; CREATE TABLE t (i)", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(size_of(owned) > 0);
    assert_int_equal(size_of(other), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    close(others);
    unlink(owned);
    unlink(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlite_writes_to_the_descriptor_and_not_to_the_name),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
