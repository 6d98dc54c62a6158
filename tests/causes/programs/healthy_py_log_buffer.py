# cause: none
# source: a healthy program; nearly: growth
# host: yes
import logging
import logging.handlers
import time

with open("/dev/null", "w") as output:
    handler = logging.handlers.MemoryHandler(500, target=logging.StreamHandler(output))
    log = logging.getLogger("service")
    log.addHandler(handler)
    log.propagate = False
    log.setLevel(logging.DEBUG)
    for n in range(2000):
        log.debug("request %d: %s", n, "x" * 40000)
        time.sleep(0.001)
    handler.close()
