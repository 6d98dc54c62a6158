// One row per form of C++'s operator new and delete: `table_cxx ROW` runs one. test_cxx.py has the
// bytes that each keeps.
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

static void *volatile kept;
static constexpr std::align_val_t align{ 128 };
struct alignas(128) Wide {
    char bytes[256];
};

// clang-format off
static void row_nothing() {}
static void row_new() { kept = ::operator new(1000); }
static void row_new_array() { kept = ::operator new[](1000); }
static void row_new_nothrow() { kept = ::operator new(1000, std::nothrow); }
static void row_new_array_nothrow() { kept = ::operator new[](1000, std::nothrow); }
static void row_new_aligned() { kept = ::operator new(1000, align); }
static void row_new_array_aligned() { kept = ::operator new[](1000, align); }
static void row_new_aligned_nothrow() { kept = ::operator new(1000, align, std::nothrow); }
static void row_new_array_aligned_nothrow() { kept = ::operator new[](1000, align, std::nothrow); }
static void row_new_object() { kept = new Wide; }

static void row_delete() { ::operator delete(::operator new(1000)); }
static void row_delete_array() { ::operator delete[](::operator new[](1000)); }
static void row_delete_sized() { ::operator delete(::operator new(1000), std::size_t(1000)); }
static void row_delete_array_sized() { ::operator delete[](::operator new[](1000), std::size_t(1000)); }
static void row_delete_nothrow() { ::operator delete(::operator new(1000, std::nothrow), std::nothrow); }
static void row_delete_array_nothrow() { ::operator delete[](::operator new[](1000, std::nothrow), std::nothrow); }
static void row_delete_aligned() { ::operator delete(::operator new(1000, align), align); }
static void row_delete_array_aligned() { ::operator delete[](::operator new[](1000, align), align); }
static void row_delete_sized_aligned() { ::operator delete(::operator new(1000, align), std::size_t(1000), align); }
static void row_delete_array_sized_aligned() { ::operator delete[](::operator new[](1000, align), std::size_t(1000), align); }
static void row_delete_aligned_nothrow() { ::operator delete(::operator new(1000, align, std::nothrow), align, std::nothrow); }
static void row_delete_array_aligned_nothrow() { ::operator delete[](::operator new[](1000, align, std::nothrow), align, std::nothrow); }
static void row_delete_null() { ::operator delete(nullptr); }

static void row_new_throws()
{
    volatile std::size_t too_much = SIZE_MAX / 2;
    try { kept = ::operator new(too_much); } catch (const std::bad_alloc &) { return; }
    std::abort();
}
static void row_new_nothrow_fails()
{
    volatile std::size_t too_much = SIZE_MAX / 2;
    if (::operator new(too_much, std::nothrow)) std::abort();
}
static void row_containers()
{
    std::vector<std::string> v;
    for (int i = 0; i < 1000; i++) v.emplace_back(100, 'x');
    auto p = std::make_shared<Wide>();
    v.clear();
    v.shrink_to_fit();
    (void)p;
}

// clang-format on
static const struct {
    const char *name;
    void (*run)();
} rows[] = {
#define X(name) { #name, row_##name },
    X(nothing) X(new) X(new_array) X(new_nothrow) X(new_array_nothrow) X(new_aligned)
        X(new_array_aligned) X(new_aligned_nothrow) X(new_array_aligned_nothrow) X(new_object)
            X(delete) X(delete_array) X(delete_sized) X(delete_array_sized) X(delete_nothrow)
                X(delete_array_nothrow) X(delete_aligned) X(delete_array_aligned)
                    X(delete_sized_aligned) X(delete_array_sized_aligned) X(delete_aligned_nothrow)
                        X(delete_array_aligned_nothrow) X(delete_null) X(new_throws)
                            X(new_nothrow_fails) X(containers)
#undef X
};

int main(int argc, char **argv)
{
    for (const auto &row : rows)
        if (argc == 2 && !std::strcmp(argv[1], row.name)) {
            row.run();
            return 0;
        }
    return 2;
}
