// cause: none
// source: a healthy program: an index that is loaded once, and then as much is removed as is added
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 1 << 16, ORDERS = 40000, CHANGES = 60000 };

struct order {
    struct order *next;
    long number;
    char details[1400];
};

static struct order **slots;

__attribute__((noinline)) static void insert_order(long number)
{
    struct order *o = malloc(sizeof *o);
    memset(o->details, (int)number, sizeof o->details);
    o->number = number;
    o->next = slots[number % SLOTS];
    slots[number % SLOTS] = o;
}

__attribute__((noinline)) static void remove_order(long number)
{
    for (struct order **place = &slots[number % SLOTS]; *place; place = &(*place)->next)
        if ((*place)->number == number) {
            struct order *o = *place;
            *place = o->next;
            free(o);
            return;
        }
}

static void load_orders(void)
{
    slots = calloc(SLOTS, sizeof(void *));
    for (long n = 0; n < ORDERS; n++) insert_order(n);
}

int main(void)
{
    load_orders();
    for (long n = 0; n < CHANGES; n++) {
        insert_order(ORDERS + n);
        remove_order(n % 3 ? n : n ^ 1);
        if (n % 3 == 1) remove_order(n - 1);
        if (n % 100 == 0) usleep(8000);
    }
    puts("{}");
    return 0;
}
