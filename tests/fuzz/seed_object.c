/* Code for an object file with a few functions, some of them inlined into others, one without line
 * numbers. */
static inline __attribute__((always_inline)) int innermost(int *at, int n)
{
    at[n] += n;
    return at[n];
}

static inline __attribute__((always_inline)) int inner(int *at, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += innermost(at, i);
    return sum;
}

__attribute__((noinline)) static int outer(int *at, int n) { return inner(at, n) + inner(at, 2); }

int seed_object(int *at, int n);
int seed_object(int *at, int n) { return n ? outer(at, n) + innermost(at, n) : 0; }

__asm__(
    ".text\n.globl seed_object_plain\n.type seed_object_plain, @function\nseed_object_plain:\nret\n");
