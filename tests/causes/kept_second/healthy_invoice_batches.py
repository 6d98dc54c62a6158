# cause: none
# host: yes
# source: a healthy program: an ETL job with a price list that it needs throughout, batches of rows, and totals for a fixed set of customers
import json
import time

PRODUCTS, BATCHES, ROWS, CUSTOMERS = 900, 60, 4000, 500


def load_prices():
    return {product: (product * 7 % 1000, bytes([product % 255 + 1]) * 60_000) for product in range(PRODUCTS)}


def read_batch(number):
    return [{"customer": (number * ROWS + row) % CUSTOMERS, "product": row % PRODUCTS, "count": row % 9, "note": f"row {row}".ljust(600)}
            for row in range(ROWS)]


def add_batch(totals, prices, rows):
    for row in rows:
        price, sheet = prices[row["product"]]
        totals[row["customer"]] = totals.get(row["customer"], 0) + price * row["count"] + sheet[0] % 2


prices, totals = load_prices(), {}
for number in range(BATCHES):
    add_batch(totals, prices, read_batch(number))
    time.sleep(0.07)
print(sum(totals.values()), "in total")
print(json.dumps({"bytes": []}))
