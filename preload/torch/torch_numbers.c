/* The accessors of at::RecordFunction are inline, so its memory is read here. Since PyTorch 2.0 it
 * has 160 bytes of callbacks, then
 *
 *     std::variant<std::string, ...> name     the string's text is the result of name()
 *     int64_t number                          of the node; -1 for a node without an operator
 *     c10::ArrayRef inputs                    16 bytes
 *     std::unordered_map named inputs         only in newer versions
 *     std::vector outputs
 *     uint64_t thread                         that created the node, in PyTorch's numbering
 *
 * Each object is checked: its name must be at its place, as a string of the C++ library's new kind
 * (32 bytes with its length) or of its old one (a pointer; PyTorch's own builds before 2.6). After
 * the inputs there must be an empty map, which points into itself, or an empty vector, which is
 * zeros. */
#include "torch/torch_numbers.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/sys.h"
#include "core/say.h"
#include "mpf/event.h"

enum {
    NAME = 160,
    NEW_STRING = 32,
    OLD_STRING = 8,
    INPUTS = 16,
    MAP = 56,
    MAP_OWN_BUCKET = 48,
    VECTOR = 24
};

static uint64_t (*next_number)(void), (*thread_number)(void);
static bool unknown_layout; /* set if an object with an unknown layout has been seen */

void mp_torch_numbers_start(void *library)
{
    thread_number =
        (__typeof__(thread_number))dlsym(library, "_ZN2at14RecordFunction15currentThreadIdEv");
    if (!thread_number) return;
    __atomic_store_n(&next_number,
                     (__typeof__(next_number))dlsym(library, "_ZN2at15sequence_number4peekEv"),
                     __ATOMIC_RELEASE);
}

/* 0 means that the log has no number, so the record stores the number + 1. */
void mp_torch_next(void)
{
    uint64_t (*number)(void) = __atomic_load_n(&next_number, __ATOMIC_ACQUIRE);
    if (!number) return;
    const uint64_t next = number();
    if (mp_self && mp_self->next_node == next + 1) return;
    mp_record(MPF_OP_TORCH_NEXT, MPF_HEAP_NONE, next, thread_number());
    if (mp_self) mp_self->next_node = next + 1;
}

static uint64_t word(const void *object, size_t at)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)object + at, sizeof value);
    return value;
}

static uint8_t byte(const void *object, size_t at) { return ((const uint8_t *)object)[at]; }

/* The variant ends with the number of its kind, 0 for the string, and is aligned. Returns 0 for an
 * unknown layout. */
static size_t number_at(const void *f, const char *name)
{
    if (word(f, NAME) != (uintptr_t)name) return 0;
    if (word(f, NAME + 8) == strlen(name))
        return byte(f, NAME + NEW_STRING) ? 0 : NAME + NEW_STRING + 8;
    return byte(f, NAME + OLD_STRING) ? 0 : NAME + OLD_STRING + 8;
}

static size_t thread_at(const void *f, size_t number)
{
    const size_t at = number + sizeof(uint64_t) + INPUTS;
    if (word(f, at) == (uintptr_t)f + at + MAP_OWN_BUCKET) return at + MAP + VECTOR;
    return word(f, at) | word(f, at + 8) | word(f, at + 16) ? 0 : at + VECTOR;
}

static void give_up(void)
{
    if (__atomic_exchange_n(&unknown_layout, true, __ATOMIC_RELAXED)) return;
    mp_say(
        "the autograd nodes of this PyTorch are not supported: --backward-of will not find forward "
        "operators",
        NULL, NULL, NULL);
}

void mp_torch_next_again(void)
{
    if (mp_torch_has_next()) mp_torch_next();
}

void mp_torch_node(const void *f, const char *name)
{
    if (!__atomic_load_n(&next_number, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&unknown_layout, __ATOMIC_RELAXED))
        return;
    const size_t at = number_at(f, name), thread_place = at ? thread_at(f, at) : 0;
    const uint64_t number = thread_place ? word(f, at) : 0,
                   thread = thread_place ? word(f, thread_place) : 0;
    if (!thread_place || thread > UINT32_MAX) give_up();
    else if (number != UINT64_MAX && thread)
        mp_record(MPF_OP_TORCH_NODE, MPF_HEAP_NONE, number, thread);
}
