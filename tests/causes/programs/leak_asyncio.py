# cause: growth
# owner: handle
# change: cancel|task|keeps
# source: ray-project/ray#29187
# host: yes
import asyncio
import json

held = []


async def handle(stop):
    held.append(asyncio.create_task(stop.wait()))
    held.append(bytearray(200_000))
    await asyncio.sleep(0.02)


async def main():
    stop = asyncio.Event()
    for _ in range(120):
        await handle(stop)
    stop.set()


asyncio.run(main())
print(json.dumps({"bytes": [120 * 200_000, 200_000]}))
