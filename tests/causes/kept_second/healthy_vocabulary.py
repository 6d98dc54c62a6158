# cause: none
# host: yes
# source: a healthy program: an indexer interns the words of its documents with a vector each; after a third of them every word is known
import json
import random
import time
from array import array

WORDS, DOCUMENTS, LENGTH, VECTOR = 20_000, 180, 1500, 700


class Vocabulary:
    def __init__(self):
        self.vectors, self.counts = {}, {}

    def intern(self, word):
        if word not in self.vectors:
            self.vectors[word] = array("f", [len(self.vectors)]) * VECTOR
            self.counts[word] = 0
        self.counts[word] += 1
        return self.vectors[word]


def read_document(generator):
    return [f"word{generator.randrange(WORDS)}" for _ in range(LENGTH)]


vocabulary, generator = Vocabulary(), random.Random(2)
total = 0.0
for number in range(DOCUMENTS):
    for word in read_document(generator):
        total += vocabulary.intern(word)[0]
    time.sleep(0.03)
print(len(vocabulary.vectors), "words")
print(json.dumps({"bytes": []}))
