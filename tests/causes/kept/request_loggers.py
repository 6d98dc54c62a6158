# cause: growth
# owner: logger_for|handle_request|query
# change: keeps|close|remove|clear|bound|evict|free
# host: yes
# source: the kind of services that make one logger per request; loggers are never freed
import json
import logging
import logging.handlers
import time

logging.basicConfig(level=logging.WARNING)


def logger_for(request):
    logger = logging.getLogger(f"service.request.{request}")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(logging.handlers.MemoryHandler(1000, flushLevel=logging.ERROR))
    return logger


def query(request):
    return ("row %06d;" % request) * 1600


def handle_request(request):
    logger = logger_for(request)
    logger.debug("begin")
    rows = query(request)
    logger.debug("answer: " + rows)
    return len(rows)


kept = 0
for request in range(3000):
    kept += handle_request(request)
    if request % 20 == 0:
        time.sleep(0.01)
print(json.dumps({"bytes": [kept, kept + 3000 * 8, kept // 3000]}))
