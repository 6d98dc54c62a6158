# changed: the store's key uses the client's raw device pixel ratio instead of the rounded one, so near-identical renderings of each picture are all kept
# cause: cache
# owner: (?i)ThumbnailStore|render_thumbnail|lookup|handle_request
# change: (?i)cache|key|round|evict|lru|limit|bound|entries|max.?size|hit|store|ratio|normali[sz]e|duplicate
# host: yes
# larger: after
import json
import random
import sys

RATIOS = (0.98, 0.99, 1.0, 1.01, 1.02)


class ThumbnailStore:
    def __init__(self, exact):
        self.exact = exact
        self.entries = {}
        self.hits = 0
        self.held = 0

    def key_for(self, picture, ratio):
        return (picture, ratio if self.exact else round(ratio * 2) / 2)

    def lookup(self, picture, ratio):
        key = self.key_for(picture, ratio)
        found = self.entries.get(key)
        if found is not None:
            self.hits += 1
            return found
        pixels = render_thumbnail(picture, key[1])
        self.entries[key] = pixels
        self.held += len(pixels)
        return pixels


def render_thumbnail(picture, ratio):
    side = int(480 * ratio)
    row = bytes((picture * 7 + x) & 0xFF for x in range(side * 4))
    out = bytearray(side * side * 4)
    for y in range(side):
        out[y * side * 4:(y + 1) * side * 4] = row
    return out


def encode(pixels):
    return sum(pixels[::4097]) & 0xFFFF


def handle_request(store, picture, ratio):
    return encode(store.lookup(picture, ratio))


def main():
    rng = random.Random(99)
    store = ThumbnailStore(exact=sys.argv[1] == "after")
    plan = [(p, r) for p in range(80) for r in RATIOS] * 2
    rng.shuffle(plan)
    check = 0
    for picture, ratio in plan:
        check += handle_request(store, picture, ratio)
    print(f"requests={len(plan)} hits={store.hits} check={check}")
    wide = 80 * sum(int(480 * r) ** 2 * 4 for r in RATIOS)
    slim = 80 * 480 * 480 * 4
    print(json.dumps({"bytes": [store.held, wide - slim], "peak": store.held}))


if __name__ == "__main__":
    main()
