// A C++ library for a C program that loads it RTLD_LOCAL, and the C++ library with it.
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" void plugin_start();
extern "C" void plugin_work();

// Each operator for the first time, which makes the loader look for it.
extern "C" void plugin_start()
{
    ::operator delete(::operator new(1, std::nothrow));
    ::operator delete[](::operator new[](1));
    ::operator delete(::operator new(1, std::align_val_t(256)), std::align_val_t(256));
    ::operator delete(::operator new(1), 1);
}

// 100 blocks of 1,000 bytes stay, and the vector that knows them.
extern "C" void plugin_work()
{
    auto &kept = *new std::vector<void *>;
    kept.reserve(100);
    for (int i = 0; i < 10; i++) kept.push_back(::operator new(1000, std::nothrow));
    for (int i = 0; i < 10; i++) kept.push_back(::operator new[](1000));
    for (int i = 0; i < 10; i++) kept.push_back(::operator new(1000, std::align_val_t(256)));
    while (kept.size() < 100) kept.push_back(::operator new(1000));
    std::vector<std::string> dropped(100, std::string(1000, 'x'));
}
