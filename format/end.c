#include "mpf/end.h"

#include <string.h>

const char *const mpf_end_name[] = {
#define X(name, text) text,
    MPF_ENDS(X)
#undef X
};

enum mpf_end mpf_end_named(const char *name)
{
    enum mpf_end end = MPF_END_NONE;
    while (end < MPF_END_OTHER && strcmp(mpf_end_name[end], name) != 0) end++;
    return end;
}
