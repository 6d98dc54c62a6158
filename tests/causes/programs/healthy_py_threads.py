# cause: none
# source: a healthy program
# host: yes
import concurrent.futures

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda n: len(bytes(200_000)), range(200)))
