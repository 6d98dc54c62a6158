// Makes logs for unit tests, without a file.

/**
 * Returns a heap of random spans with bands. The bands' changes are consistent with the totals.
 * @returns {{ heap: any, vectors: number[][] }}
 */
export function randomHeap(seed, spans, bands) {
  let state = seed >>> 0 || 1;
  const dice = (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
  const held = new Array(bands).fill(0),
    start = [],
    max = [],
    end = [],
    changeBand = [],
    changeBytes = [],
    vectors = [];
  for (let i = 0; i < spans; i++) {
    start.push(i * 1000);
    for (let k = dice(4); k >= 0; k--) {
      const band = dice(bands);
      held[band] = dice(10) ? dice(1 << 20) : 0;
      changeBand.push(band);
      changeBytes.push(held[band]);
    }
    end.push(changeBand.length);
    max.push(held.reduce((a, b) => a + b, 0));
    vectors.push([...held]);
  }
  const f = (array) => Float64Array.from(array),
    zero = new Float64Array(spans);
  return {
    vectors,
    heap: {
      name: 'host/heap',
      width: 1000,
      exact: [],
      peakBytes: Math.max(...max),
      peakTime: start[max.indexOf(Math.max(...max))],
      bands: Array.from({ length: bands }, (_, i) => ({ kind: 0, node: i % 7, thread: i % 3, size: i % 5 })),
      spans: {
        start: f(start),
        time: f(start),
        max: f(max),
        min: f(max),
        close: f(max),
        allocs: zero,
        frees: zero,
        end: f(end),
      },
      changeBand: f(changeBand),
      changeBytes: f(changeBytes),
    },
  };
}

/** The fields of a log that distinguish its bands. @type {any} */
export const log = {
  paths: [[], ['a'], ['a', 'b'], ['a', 'c'], ['d'], ['d', 'b'], ['e']],
  threads: ['main', 'one', 'two'],
  sizes: ['0 B', '1 B', 'to 2 B', 'to 4 B', 'to 8 B'],
};
