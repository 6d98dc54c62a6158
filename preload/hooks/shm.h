/* Which files are shared memory: those on tmpfs and hugetlbfs, memfds among them.
 *
 * fstatfs would say it at once, but a filter of system calls may kill who calls it (Chromium's
 * does, in its renderers).  What is called here every program calls: fstat, and for a device that
 * was not seen before a look into /proc. */
#ifndef MP_SHM_H
#define MP_SHM_H

/* Learns the devices that no mount shows, those of memfds.  Once, from the constructor or at the
 * first event. */
void mp_shm_init(void);
enum mp_shm_kind {
    MP_SHM_NONE,
    MP_SHM_PAGES,
    MP_SHM_HUGE /* hugetlbfs: of huge pages */
};
/* Any thread, any context. */
enum mp_shm_kind mp_shm_kind(int fd);

#endif
