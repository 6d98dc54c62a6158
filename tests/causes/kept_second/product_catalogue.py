# cause: holder
# owner: load_region|load_catalogue|Catalogue
# change: need|lazy|lazily|on demand|load|only|smaller|part|share|evict|map|compact|once|fewer|releas|drop
# host: yes
# source: a shop's service that loads the product pages of all regions at the start, though each instance only serves one region
import json
import time

REGIONS, PRODUCTS, PAGE = ("eu", "us", "apac", "latam"), 60, 1_000_000


class Catalogue:
    def __init__(self):
        self.regions = self.load_catalogue()

    def load_catalogue(self):
        return {region: self.load_region(region) for region in REGIONS}

    @staticmethod
    def load_region(region):
        pages = []
        for product in range(PRODUCTS):
            pages.append(f"{region[:2]}{product:06d}".encode() * (PAGE // 8))
            time.sleep(0.001)
        return pages

    def page(self, region, product):
        return self.regions[region][product]


catalogue = Catalogue()
sent = 0
for request in range(400):
    page = catalogue.page("eu", request % PRODUCTS)
    sent += len(page[:2000])
    time.sleep(0.01)
print(json.dumps({"bytes": [len(REGIONS) * PRODUCTS * PAGE]}))
