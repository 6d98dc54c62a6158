/* Requests more huge pages than any pool has, in three ways, without using other memory instead.
 * Then requests more address space than exists. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGES ((size_t)1 << 40)
#define TOO_MUCH   ((size_t)1 << 60)
#define ANONYMOUS  (MAP_PRIVATE | MAP_ANONYMOUS)
#define SHARED     (MAP_SHARED | MAP_ANONYMOUS)

static int fails(size_t bytes, int flags, int fd)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED;
}

int main(void)
{
    const int fd = memfd_create("huge", MFD_HUGETLB);
    int failed = fails(HUGE_PAGES, ANONYMOUS | MAP_HUGETLB, -1) +
                 fails(HUGE_PAGES, SHARED | MAP_HUGETLB, -1);
    if (fd >= 0) failed += fails(HUGE_PAGES, MAP_SHARED, fd);
    printf("%d %d\n", failed, fails(TOO_MUCH, ANONYMOUS, -1));
    return 0;
}
