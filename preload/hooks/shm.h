/* Recognises shared memory: files on tmpfs and hugetlbfs, including memfds.
 *
 * fstatfs would tell at once, but a filter of system calls may kill the caller (Chromium's
 * renderers). The calls here are made by every program: fstat, and for a new device a read of
 * /proc. */
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
