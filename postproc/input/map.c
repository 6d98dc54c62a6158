#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DROP_STEP ((size_t)4 << 20)

static int map_fd(struct mpr_map *map, int fd, const char *path, struct mpr_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return mpr_fail_errno(error, path, "examine");
    if (!S_ISREG(st.st_mode))
        return mpr_fail(error, "%s: not a regular file; give a memprof log or a directory of logs", path);
    if (st.st_size == 0) return 0;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return mpr_fail_errno(error, path, "map");
    madvise(data, (size_t)st.st_size, MADV_SEQUENTIAL);
    map->data = data;
    map->size = (size_t)st.st_size;
    return 0;
}

int mpr_map_open(struct mpr_map *map, const char *path, struct mpr_error *error)
{
    *map = (struct mpr_map){ 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return mpr_fail_errno(error, path, "open");
    const int result = map_fd(map, fd, path, error);
    close(fd);
    return result;
}

void mpr_map_close(struct mpr_map *map)
{
    if (map->data) munmap((void *)map->data, map->size);
    *map = (struct mpr_map){ 0 };
}

void mpr_map_drop(struct mpr_map *map, size_t offset)
{
    if (offset < map->dropped + DROP_STEP) return;
    const size_t end = offset & ~(DROP_STEP - 1);
    madvise((void *)(map->data + map->dropped), end - map->dropped, MADV_DONTNEED);
    map->dropped = end;
}
