#include "shell.h"

#include <string.h>

#include "mpf/shell.h"
#include "utf8.h"

const char *mpr_shell_word(struct mpr_arena *arena, const char *word)
{
    char *text = mpr_arena_alloc(arena, MPF_SHELL_BYTES(strlen(word)));
    mpf_shell_word(text, word, mpr_utf8_shown);
    return text;
}
