// A C++ program whose bytes do not depend on the allocator. It loads, indexes and drops data, each
// in a range, and some of it is live at the end.
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "ranges.h"

struct alignas(64) Row {
    char key[64];
    std::unique_ptr<char[]> text;
};
using Table = std::vector<std::unique_ptr<Row>>;

static Table load(unsigned rows)
{
    Table table;
    for (unsigned i = 0; i < rows; i++) {
        auto row = std::make_unique<Row>();
        row->text = std::make_unique<char[]>(100 + i % 1000);
        table.push_back(std::move(row));
    }
    return table;
}

static std::multimap<std::string, Row *> index(const Table &table)
{
    std::multimap<std::string, Row *> by_name;
    for (const auto &row : table)
        by_name.emplace("a key that is too long to be kept in place " +
                            std::to_string(by_name.size() % 97),
                        row.get());
    return by_name;
}

int main()
{
    ranges_init();
    range_push("load");
    auto *table = new Table(load(5000));
    range_push("scratch");
    void *scratch = std::malloc(100000);
    scratch = std::realloc(scratch, 300000);
    void *aligned = std::aligned_alloc(4096, 40960);
    range_pop();
    range_pop();
    range_push("index");
    auto *by_name = new auto(index(*table));
    char *plain = new (std::nothrow) char[12345];
    range_pop();
    range_push("drop");
    table->resize(2500);
    std::free(scratch);
    std::free(aligned);
    delete[] plain;
    range_pop();
    return by_name->size() != 5000;
}
