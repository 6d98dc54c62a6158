# cause: growth
# owner: profile|Customer|__init__|load|handle_request
# change: cache|maxsize|evict|keeps|bound|weak|cached_property
# host: yes
# source: the kind of functools.cache on a method: its key holds self, and so every object
import functools
import hashlib
import json
import time

SIZE = 96 * 1024


class Customer:
    def __init__(self, number):
        self.number = number
        self.history = self.load()

    def load(self):
        return bytearray(hashlib.sha256(str(self.number).encode()).digest() * (SIZE // 32))

    @functools.cache
    def profile(self, day):
        return sum(self.history[day::365]) / (1 + self.number)


def handle_request(number):
    customer = Customer(number)
    return round(customer.profile(number % 365), 3)


total = 0
for request in range(1400):
    total += handle_request(request)
    time.sleep(0.002)
print(json.dumps({"bytes": [1400 * SIZE, SIZE]}))
