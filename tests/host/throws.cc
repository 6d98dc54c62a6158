// 20,000 exceptions pass through one to 16 calls that have something to destroy. A function catches
// each and then keeps a block.
#include <cstdlib>
#include <memory>
#include <stdexcept>

#define FRAME __attribute__((noinline, noclone)) static

static void *volatile kept;

FRAME void throw_from(int calls)
{
    std::unique_ptr<char[]> owned(new char[100]);
    owned[0] = 1;
    if (calls == 0) throw std::runtime_error("a message that is too long to be kept in place");
    throw_from(calls - 1);
    owned[1] = 1;
}

FRAME void after_throw()
{
    kept = std::malloc(100);
    __asm__ volatile("" : : : "memory");
}

int main()
{
    for (int i = 0; i < 20000; i++) {
        try {
            throw_from(i % 16);
        } catch (const std::runtime_error &) {
            after_throw();
        }
    }
    kept = std::malloc(1 << 20); // so that the peak is at this call
    return 0;
}
