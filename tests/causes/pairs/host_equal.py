# changed: nothing
# cause: none
# host: yes
import json
import time

rows = []
for n in range(300):
    text = json.dumps([{"number": n, "text": "x" * 200}] * 500)
    rows = json.loads(text)
    if n % 10 == 0:
        time.sleep(0.01)
