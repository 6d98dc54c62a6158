"""A report over a shop's orders that keeps every page it renders, and so runs out of memory.

usage: orders.py LIBRARY    the library built from nvtx_emit.c"""
import contextlib
import csv
import ctypes
import io
import os
import random
import sqlite3
import sys

ORDERS = 300_000
CUSTOMERS = 20_000
REGIONS = ("north", "east", "south", "west")

nvtx = ctypes.CDLL(os.path.abspath(sys.argv[1]))


@contextlib.contextmanager
def range_named(name):
    nvtx.nvtxRangePushA(name.encode())
    try:
        yield
    finally:
        nvtx.nvtxRangePop()


def orders_csv():
    """Returns the text of a file of random orders."""
    rng = random.Random(1)
    out = io.StringIO()
    writer = csv.writer(out)
    for number in range(ORDERS):
        writer.writerow((number, rng.randrange(CUSTOMERS), rng.randrange(10_000), f"item {rng.randrange(500)}"))
    return out.getvalue()


def load(db, text):
    db.execute("create table orders (number integer primary key, customer integer, cents integer, item text)")
    db.executemany("insert into orders values (?, ?, ?, ?)", csv.reader(io.StringIO(text)))


def page(db, region, customer):
    rows = db.execute("select number, item, cents from orders where customer = ?", (customer,))
    lines = [f"<tr><td>{region}</td><td>{number}</td><td>{item}</td><td>{cents / 100:.2f}</td></tr>" for number, item, cents in rows]
    return f"<h1>Customer {customer}</h1>\n<table>\n" + "\n".join(lines) * 10 + "\n</table>\n"


def main():
    db = sqlite3.connect(":memory:")
    with range_named("load orders"):
        with range_named("read csv"):
            text = orders_csv()
        with range_named("insert"):
            load(db, text)
    with range_named("index by customer"):
        db.execute("create index by_customer on orders (customer)")
    pages = {}
    with range_named("report"):
        for region in REGIONS:
            print(f"orders.py: rendering region {region}", flush=True)
            with range_named(f"region {region}"), range_named("page cache"):
                for customer in range(CUSTOMERS):
                    pages[region, customer] = page(db, region, customer)
    print(f"orders.py: {len(pages)} pages")


main()
