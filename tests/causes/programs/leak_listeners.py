# cause: growth
# owner: subscribe|on_request
# change: unsubscribe|weak|keeps
# source: the kind of event emitters
# host: yes
import json
import time

listeners = []


def subscribe(request):
    listeners.append(bytearray(300_000))


def on_request(request):
    subscribe(request)
    return bytes(1_000_000)


for request in range(120):
    on_request(request)
    time.sleep(0.02)
print(json.dumps({"bytes": [120 * 300_000, 300_000]}))
