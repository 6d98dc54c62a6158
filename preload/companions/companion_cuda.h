/* The calls of the CUDA driver that libmemprof-cuda.so interposes, and the driver's own functions.
 */
#ifndef MP_COMPANION_CUDA_H
#define MP_COMPANION_CUDA_H

struct mp_driver_hook {
    const char *name;
    void *exported;   /* the function of that name in this library */
    void *handed_out; /* its replacement if another library also has the name */
    void *real;       /* the driver's function; NULL if it is not known yet or missing */
    const struct memprof_driver_call *observed; /* NULL: memprof does not listen to it */
};

/* Returns the hook of exactly that name, or NULL. Any context. */
const struct mp_driver_hook *mp_driver_hook(const char *name);
/* Returns the result of a look-up of its name in a handle other than RTLD_NEXT. Takes the loader's
 * lock; keeps errno, and leaves the loader's error as the look-up itself does. */
void *mp_driver_find(const struct mp_driver_hook *hook, void *handle);
void *mp_driver_find_version(const struct mp_driver_hook *hook, void *handle, const char *version);

/* The look-up functions of later libraries, usually the C library's. Any context. */
typedef void *(*mp_look_up)(void *handle, const char *name);
typedef void *(*mp_look_up_version)(void *handle, const char *name, const char *version);
mp_look_up mp_next_dlsym(void);
mp_look_up_version mp_next_dlvsym(void);

#endif
