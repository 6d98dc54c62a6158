/* Stand-ins for hooked functions that the program's files do not have: the system call, wrapped as
 * in the C library, or the error of a kernel without it (ENOSYS). */
#ifndef MP_RAW_H
#define MP_RAW_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The C library's allocator under its other names. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);
void *__libc_memalign(size_t alignment, size_t bytes);
void *__libc_valloc(size_t bytes);
void *__libc_pvalloc(size_t bytes);
int mp_raw_posix_memalign(void **out, size_t alignment, size_t bytes);

void *mp_raw_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int mp_raw_munmap(void *at, size_t bytes);
void *mp_raw_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...);
int mp_raw_mprotect(void *at, size_t bytes, int prot);
int mp_raw_brk(void *to);
void *mp_raw_sbrk(intptr_t more);
void *mp_raw_shmat(int id, const void *at, int flags);
int mp_raw_shmdt(const void *at);
int mp_raw_prctl(int option, ...);

int mp_raw_execve(const char *path, char *const argv[], char *const envp[]);
int mp_raw_execv(const char *path, char *const argv[]);
int mp_raw_execvp(const char *file, char *const argv[]);
int mp_raw_execvpe(const char *file, char *const argv[], char *const envp[]);
int mp_raw_fexecve(int fd, char *const argv[], char *const envp[]);
int mp_raw_execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);

int mp_raw_pthread_setname_np(pthread_t thread, const char *name);
/* Leaves the library loaded. */
int mp_raw_dlclose(void *handle);
int mp_raw_unshare(int flags);
int mp_raw_setns(int fd, int type);
int mp_raw_mlockall(int flags);

#endif
