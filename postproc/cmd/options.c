#include "options.h"

#include <assert.h>
#include <string.h>

#include "cmd.h"
#include "selection.h"

/* ---- values */

void mpr_set_text(void *value, char *text, const char *name, struct argp_state *state)
{
    (void)name, (void)state;
    *(const char **)value = text;
}

void mpr_set_flag(void *value, char *text, const char *name, struct argp_state *state)
{
    (void)text, (void)name, (void)state;
    *(bool *)value = true;
}

void mpr_set_by(void *value, char *text, const char *name, struct argp_state *state)
{
    (void)name;
    *(enum mpr_group *)value = mpr_selection_by(text, state);
}

void mpr_set_heap(void *value, char *text, const char *name, struct argp_state *state)
{
    (void)name;
    *(uint8_t *)value = mpr_selection_heap(text, MPR_HEAPS_WANTED, state);
}

void mpr_set_instant(void *value, char *text, const char *name, struct argp_state *state)
{
    mpr_selection_check_instant(text, name, state);
    *(const char **)value = text;
}

void mpr_set_instant_or_peak(void *value, char *text, const char *name, struct argp_state *state)
{
    if (strcmp(text, "peak") != 0) mpr_set_instant(value, text, name, state);
}

void mpr_set_length(void *value, char *text, const char *name, struct argp_state *state)
{
    *(uint64_t *)value = mpr_selection_length(text, name, state);
}

/* ---- parsing */

enum { KEYS = 256, MOST = 16 };

struct parsing {
    const struct mpr_takes *takes;
    void *arguments, *values;
};

static int key_of(const struct mpr_option *o, size_t i)
{
    return o[i].letter ? o[i].letter : KEYS + (int)i;
}

static const struct mpr_option *option_of(const struct mpr_takes *takes, int key)
{
    for (size_t i = 0; takes->options && takes->options[i].name; i++)
        if (key_of(takes->options, i) == key) return &takes->options[i];
    return NULL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    const struct parsing *p = state->input;
    const struct mpr_takes *takes = p->takes;
    char *const arguments = p->arguments;
    if (key == ARGP_KEY_INIT) {
        size_t child = 0;
        if (takes->which) state->child_inputs[child++] = arguments + takes->logs;
        if (!takes->no_output) state->child_inputs[child] = arguments + takes->output;
        return 0;
    }
    if (key == ARGP_KEY_NO_ARGS && takes->need) argp_error(state, "%s", takes->need);
    if (key == ARGP_KEY_END && takes->check) {
        takes->check(arguments, state);
        return 0;
    }
    const struct mpr_option *o = option_of(takes, key);
    if (!o) return takes->word ? takes->word(arguments, key, text, state) : ARGP_ERR_UNKNOWN;
    o->set((char *)p->values + o->at, text, o->name, state);
    return 0;
}

void mpr_takes_parse(const struct mpr_takes *takes, int argc, char **argv, void *arguments,
                     void *values)
{
    struct argp_option option[MOST + 1] = { { 0 } };
    struct argp_child child[3] = { { 0 } }, *next = child;
    struct parsing p = { takes, arguments, values };
    for (size_t i = 0; takes->options && takes->options[i].name; i++) {
        assert(i < MOST);
        const struct mpr_option *o = &takes->options[i];
        option[i] = (struct argp_option){ o->name,     key_of(takes->options, i),
                                          o->argument, o->optional ? OPTION_ARG_OPTIONAL : 0,
                                          o->help,     1 };
    }
    if (takes->which) *next++ = (struct argp_child){ takes->which, 0, "Which logs:", 1 };
    if (!takes->no_output) *next = (struct argp_child){ &mpr_output_argp, 0, "Output:", 2 };
    const struct argp argp = { option, parse, takes->words, takes->doc, child, NULL, NULL };
    if (takes->in_order) mpr_cmd_parse_in_order(&argp, argc, argv, &p);
    else mpr_cmd_parse(&argp, argc, argv, &p);
}
