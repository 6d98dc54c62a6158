# cause: growth
# owner: fetch_rows|pages|start|read_page|serve|Downloads
# change: close|remov|drop|evict|bound|limit|keep|kept|hold|releas|referenc|clear|expir|free|delete|generator|forget
# host: yes
# source: a download service with one generator per client; generators of clients that disconnect stay registered, with the rows in their frames
import json
import time

CLIENTS, PAGES, PAGE = 400, 10, 65536


def fetch_rows(client):
    return (b"%06d,row\n" % client)[:8] * (PAGES * PAGE // 8)


class Downloads:
    def __init__(self):
        self.running = {}

    def pages(self, client):
        rows = fetch_rows(client)
        for first in range(0, len(rows), PAGE):
            yield rows[first:first + PAGE]

    def start(self, client):
        self.running[client] = self.pages(client)

    def read_page(self, client):
        try:
            return next(self.running[client])
        except StopIteration:
            del self.running[client]
            return b""


def serve(downloads, client, wanted):
    downloads.start(client)
    sent = 0
    while wanted > 0:
        page = downloads.read_page(client)
        if not page:
            break
        sent += len(page)
        wanted -= 1
    return sent


downloads = Downloads()
for client in range(CLIENTS):
    serve(downloads, client, PAGES + 1 if client % 4 == 0 else 2)
    time.sleep(0.014)
kept = CLIENTS - CLIENTS // 4
print(json.dumps({"bytes": [kept * PAGES * PAGE, PAGES * PAGE]}))
