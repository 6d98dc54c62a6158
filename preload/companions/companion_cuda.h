/* The calls of the CUDA driver that libmemprof-cuda.so stands before, and the driver's own. */
#ifndef MP_COMPANION_CUDA_H
#define MP_COMPANION_CUDA_H

struct mp_driver_hook {
    const char *name;
    void *exported;   /* the function of that name in this library */
    void *handed_out; /* its stand-in where another library has the name, too */
    void *real;       /* the driver's; NULL: not known yet, or there is none */
    const struct memprof_driver_call *told; /* NULL: memprof does not listen to it */
};

/* The hook of exactly that name; NULL: there is none.  Any context. */
const struct mp_driver_hook *mp_driver_hook(const char *name);
/* What a look-up of its name is to give, of a handle that is not RTLD_NEXT.  Takes the loader's
 * lock; keeps errno, and leaves the loader's error as the look-up itself does. */
void *mp_driver_find(const struct mp_driver_hook *hook, void *handle);
void *mp_driver_find_version(const struct mp_driver_hook *hook, void *handle, const char *version);

/* The look-ups of the libraries behind this one: the C library's, as a rule.  Any context. */
typedef void *(*mp_look_up)(void *handle, const char *name);
typedef void *(*mp_look_up_version)(void *handle, const char *name, const char *version);
mp_look_up mp_next_dlsym(void);
mp_look_up_version mp_next_dlvsym(void);

#endif
