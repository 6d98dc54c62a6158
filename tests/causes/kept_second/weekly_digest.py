# cause: instance
# owner: build_digest|render|send
# change: stream|pieces|limit|bound|cap|split|chunk|largest|generator|write|input|one|smaller
# host: yes
# source: a mailer that builds each user's weekly digest in memory; one user follows far more topics than all others
import json
import time

USERS, HEAVY, USUAL_ITEMS, HEAVY_ITEMS, ITEM = 60, 37, 400, 24_000, 4000


def render(user, item):
    return f"<p>{user:04d}.{item:06d}</p>".ljust(ITEM, ".")


def build_digest(user, items):
    return "".join([render(user, item) for item in range(items)])


def send(digest):
    return len(digest)


sent = 0
for user in range(USERS):
    sent += send(build_digest(user, HEAVY_ITEMS if user == HEAVY else USUAL_ITEMS))
    time.sleep(0.06)
print(json.dumps({"bytes": [HEAVY_ITEMS * ITEM, 2 * HEAVY_ITEMS * ITEM, HEAVY_ITEMS * (ITEM + 49)]}))
