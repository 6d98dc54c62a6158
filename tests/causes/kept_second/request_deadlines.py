# cause: growth
# owner: read_body|call_later|handle|Timer|Scheduler
# change: cancel|remov|drop|evict|bound|limit|keep|kept|hold|releas|referenc|forget|clear|expir|free|delete
# host: yes
# source: a web server whose timers stay in the heap after cancel(), with the request's body, until their deadline of five minutes
import heapq
import itertools
import json
import time
import zlib

REQUESTS, BODY = 4000, 49152


class Timer:
    def __init__(self, due, callback, arguments):
        self.due, self.callback, self.arguments, self.cancelled = due, callback, arguments, False

    def cancel(self):
        self.cancelled = True


class Scheduler:
    def __init__(self):
        self.heap, self.order = [], itertools.count()

    def call_later(self, delay, callback, *arguments):
        timer = Timer(time.monotonic() + delay, callback, arguments)
        heapq.heappush(self.heap, (timer.due, next(self.order), timer))
        return timer

    def run_due(self):
        while self.heap and self.heap[0][0] <= time.monotonic():
            timer = heapq.heappop(self.heap)[2]
            if not timer.cancelled:
                timer.callback(*timer.arguments)


def read_body(number):
    return (b"%08d" % number) * (BODY // 8)


def on_timeout(number, body):
    print("request", number, "took too long:", len(body))


def handle(scheduler, number):
    body = read_body(number)
    deadline = scheduler.call_later(300, on_timeout, number, body)
    checksum = zlib.crc32(body)
    deadline.cancel()
    return checksum


scheduler = Scheduler()
for number in range(REQUESTS):
    handle(scheduler, number)
    scheduler.run_due()
    time.sleep(0.0013)
print(json.dumps({"bytes": [REQUESTS * BODY, BODY]}))
