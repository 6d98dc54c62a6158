/* Recognises shared memory: files on tmpfs and hugetlbfs, including memfds.
 *
 * fstatfs would be simpler, but a seccomp filter may kill the caller (Chromium's renderers). The
 * calls made here are made by every program: fstat, and for a new device reading /proc. */
#ifndef MP_SHM_H
#define MP_SHM_H

/* Finds the devices of memfds, which no mount shows. Called once, from the constructor or at the
 * first event. */
void mp_shm_init(void);
enum mp_shm_kind {
    MP_SHM_NONE,
    MP_SHM_PAGES,
    MP_SHM_HUGE /* hugetlbfs, with huge pages */
};
/* Any thread, any context. */
enum mp_shm_kind mp_shm_kind(int fd);

#endif
