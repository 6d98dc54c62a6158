# cause: none
# host: yes
# source: a healthy program: sessions that are kept for a while and then removed
import collections
import random
import time

LIFETIME = 1.5
sessions = collections.OrderedDict()


def new_session(user):
    return {"user": user, "cart": [], "page": bytearray(40_000), "seen": time.monotonic()}


def expire(now):
    while sessions:
        user, session = next(iter(sessions.items()))
        if now - session["seen"] < LIFETIME:
            return
        del sessions[user]


def handle_request(user):
    now = time.monotonic()
    expire(now)
    session = sessions.setdefault(user, None) or new_session(user)
    session["seen"] = now
    session["cart"] = (session["cart"] + [user % 97])[-20:]
    sessions[user] = session
    sessions.move_to_end(user)
    return len(session["cart"])


random.seed(4)
total = 0
for request in range(9000):
    total += handle_request(random.randrange(1_000_000) if request % 4 else random.randrange(200))
    time.sleep(0.001)
print(total, len(sessions))
print("{}")
