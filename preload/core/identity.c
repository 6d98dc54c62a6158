#include "core/identity.h"

#include "base/sys.h"
#include "mpf/header.h"

static void read_boot(uint8_t boot[16])
{
    char text[64];
    if (mp_sys_slurp("/proc/sys/kernel/random/boot_id", text, sizeof text) > 0)
        mpf_hex_read(text, boot);
}

static uint64_t inode_of(const char *path)
{
    struct stat st;
    return mp_sys6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) == 0 ? st.st_ino : 0;
}

static uint64_t start_time(void)
{
    char text[512];
    return mp_sys_slurp("/proc/self/stat", text, sizeof text) > 0 ? mp_sys_stat_field(text, 22) : 0;
}

void mp_identity_read(struct mpf_identity *out)
{
    *out = (struct mpf_identity){ .pidns = inode_of("/proc/self/ns/pid"),
                                  .timens = inode_of("/proc/self/ns/time"),
                                  .started = start_time() };
    read_boot(out->boot);
}
