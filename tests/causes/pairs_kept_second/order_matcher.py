# changed: nothing that matters: another shuffle seed, other symbol names, sides processed in another order, another report format
# cause: none
# owner: (?i)OrderBook|Order|load_day|match_all
# change: (?i)no (relevant |significant )?(change|difference)|same|unchanged|nothing|equal|identical|noise
# host: yes
import json
import random
import sys

SETUPS = {
    "before": {"seed": 1, "symbols": ["ALFA", "BETA", "GAMA", "DLTA"], "sides": ("buy", "sell"), "fmt": "{}: {} fills"},
    "after": {"seed": 77, "symbols": ["NORD", "WEST", "SUED", "OSTE"], "sides": ("sell", "buy"), "fmt": "{:>8} -> {:6d}"},
}
RAW = 640


class Order:
    __slots__ = ("number", "price", "raw")

    def __init__(self, number, price):
        self.number = number
        self.price = price
        self.raw = bytes([number & 0xFF]) * RAW


class OrderBook:
    def __init__(self):
        self.levels = {"buy": [], "sell": []}

    def add(self, side, order):
        self.levels[side].append(order)

    def match(self, side_order):
        for side in side_order:
            self.levels[side].sort(key=lambda o: o.price, reverse=side == "buy")
        fills = 0
        for bid, ask in zip(self.levels["buy"], self.levels["sell"]):
            if bid.price < ask.price:
                break
            fills += 1
        return fills


def load_day(setup, count):
    rng = random.Random(setup["seed"])
    books = {s: OrderBook() for s in setup["symbols"]}
    numbers = list(range(count))
    rng.shuffle(numbers)
    for n in numbers:
        book = books[setup["symbols"][n % 4]]
        book.add(setup["sides"][(n // 4) % 2], Order(n, 1000 + rng.randrange(5000)))
    return books


def match_all(setup, books):
    for name in setup["symbols"]:
        print(setup["fmt"].format(name, books[name].match(setup["sides"])))


def main():
    setup = SETUPS[sys.argv[1]]
    count = 240_000
    books = load_day(setup, count)
    match_all(setup, books)
    held = sum(len(o.raw) for b in books.values() for side in b.levels.values() for o in side)
    print(json.dumps({"bytes": [], "peak": held}))


if __name__ == "__main__":
    main()
