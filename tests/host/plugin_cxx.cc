// A C++ library for a C program that opens it, and with it the C++ standard library, as RTLD_LOCAL.
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" void plugin_start();
extern "C" void plugin_work();

// Calls each operator for the first time, so that the loader looks it up.
extern "C" void plugin_start()
{
    ::operator delete(::operator new(1, std::nothrow));
    ::operator delete[](::operator new[](1));
    ::operator delete(::operator new(1, std::align_val_t(256)), std::align_val_t(256));
    ::operator delete(::operator new(1), 1);
}

// Keeps 100 blocks of 1,000 bytes and the vector that holds them.
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
