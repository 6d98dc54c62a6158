# cause: none
# source: a healthy program
# host: yes
import json

for _ in range(30):
    json.loads(json.dumps([{"key": n, "value": "v" * 50} for n in range(2000)]))
