/* injection.h for processors on which attach is not supported. mpl_attachable refuses before. */
#include <stdio.h>

#include "injection.h"

static bool refuse(struct mpl_injection *i)
{
    snprintf(i->reason, sizeof i->reason, "memprof attach supports 64-bit x86 only");
    return false;
}

bool mpl_injection_open(struct mpl_injection *i, pid_t pid)
{
    *i = (struct mpl_injection){ 0 };
    (void)pid;
    return refuse(i);
}

void mpl_injection_close(struct mpl_injection *i) { (void)i; }

bool mpl_injection_load(struct mpl_injection *i, const char *library)
{
    (void)library;
    return refuse(i);
}

bool mpl_injection_attach(struct mpl_injection *i, const char *settings, size_t bytes,
                          bool children)
{
    (void)settings;
    (void)bytes;
    (void)children;
    return refuse(i);
}

bool mpl_injection_detach(struct mpl_injection *i) { return refuse(i); }

bool mpl_injection_read(struct mpl_injection *i) { return refuse(i); }
