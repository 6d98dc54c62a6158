# cause: none
# source: a healthy program
# host: yes
import asyncio


async def work(n):
    await asyncio.sleep(0.001)
    return bytearray(50_000)


async def main():
    for _ in range(20):
        await asyncio.gather(*[work(n) for n in range(20)])


asyncio.run(main())
