# cause: none
# host: yes
# source: a healthy program: a gateway that parses JSON documents of different sizes, answers from them, and keeps the newest eight answers
import json
import time
from collections import OrderedDict


def fetch(number):
    count = 6000 + number * 2741 % 9000
    return json.dumps([{"id": item, "name": f"name {item}".ljust(200), "tags": ["a", "b", str(number)]} for item in range(count)])


class Gateway:
    def __init__(self):
        self.newest = OrderedDict()

    def answer(self, number):
        items = json.loads(fetch(number))
        reply = json.dumps([item["name"] for item in items[::3]]).encode()
        self.newest[number] = reply
        if len(self.newest) > 8:
            self.newest.popitem(last=False)
        return len(reply)


gateway, sent = Gateway(), 0
for number in range(50):
    sent += gateway.answer(number)
    time.sleep(0.05)
print(sent, "bytes sent")
print(json.dumps({"bytes": []}))
