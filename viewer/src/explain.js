/** Explains the band that a click pinned: its bytes, and the age, the call stack, the segment and the end of its largest
 *  blocks. */
import { address, stacksOf } from './blocks.js';
import { fill } from './colours.js';
import { copied } from './copy.js';
import { csv } from './csv.js';
import { button, element, nameText, row, swatch, table, timeText } from './dom.js';
import { liveCount } from './flows.js';
import { amount, clock, count, duration, exactly, several, share, size, time } from './format.js';
import { instanceAt } from './lanes.js';
import { liveBlocks } from './liveblocks.js';
import { blockName, isAbout, isEstimated, isLeast } from './model.js';
import { panel } from './panel.js';
import { segmentOf } from './segments.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {{ log: Log, heap: Heap, stack: import('./model.js').Stack, group: import('./model.js').Group, span: number,
 *   at: number }} Pinned at: the time of the state, in the log's time
 */

/** Returns the band of the newest pin, or null if that pin is of no band. @param {App} app @returns {Pinned | null} */
function pinnedBand(app) {
  const pin = app.pins.at(-1),
    log = pin && app.logs[pin.log],
    stack = log && app.stackOf(log, pin.heap),
    group = stack?.groups.find(({ name }) => name === pin?.band);
  if (!pin || !log || !stack || !group) return null;
  const span = app.pinSpan(log, stack.heap, pin.at);
  return span < 0 ? null : { log, heap: stack.heap, stack, group, span, at: stack.heap.spans.time[span] };
}

/** Returns the blocks of the band that the page keeps, the largest first. @param {App} app @param {Pinned} of */
const blocksOf = (app, { log, heap, stack, group, span }) =>
  heap.blocks.from.length
    ? liveBlocks(heap, span).found.filter((i) => {
        const name = blockName(log, heap, i, app.grouping());
        return group.rest ? !stack.groups.some((other) => !other.rest && other.name === name) : name === group.name;
      })
    : [];

/** @param {Pinned} of @param {number} i */
const isKept = ({ heap: { blocks } }, i) => blocks.live[i] === 1;

/** Returns when the blocks are freed, in one sentence. @param {Pinned} of @param {number[]} found */
function fate(of, found) {
  const { blocks } = of.heap,
    freed = found.filter((i) => !isKept(of, i)).map((i) => blocks.to[i] - of.at),
    never = found.length - freed.length,
    [soon, late] = [Math.min(...freed), Math.max(...freed)].map(duration),
    later = soon === late ? `${soon} later` : `${soon} to ${late} later`;
  if (!freed.length) return found.length === 1 ? 'never' : `none of the ${several(found.length, 'kept block')}`;
  if (!never) return found.length === 1 ? later : `all ${several(found.length, 'kept block')}, ${later}`;
  return `${count(freed.length)} of ${several(found.length, 'kept block')}, ${later}; ${count(never)} never`;
}

/** Returns how long graphs hold the memory of these blocks, or an empty text. @param {Pinned} of
 *  @param {number[]} found */
function heldByGraphs({ log, heap }, found) {
  const captured = found.filter((i) => heap.blocks.capture[i] > 0);
  if (!captured.length) return '';
  const until = Math.max(...captured.map((i) => log.heldUntil[heap.blocks.capture[i] - 1])),
    end = Number.isFinite(until) ? `until ${time(until)}` : 'to the end';
  return `${several(captured.length, 'block')} allocated in a graph capture: the pool of the graph keeps the memory ${end}`;
}

/** Returns the facts about the band. @param {App} app @param {Pinned} of @param {number[]} found */
function facts(app, of, found) {
  const { log, heap, stack, group, span } = of,
    least = isLeast(stack, group, span),
    blocks = liveCount(heap, stack, group, span),
    held = [
      amount(group.bytes[span], least, isAbout(group, span)),
      `${share(group.bytes[span], heap.spans.max[span])} of ${size(heap.spans.max[span])}`,
      ...(blocks === null ? [] : [several(blocks, 'block')]),
    ].join(', '),
    graphs = heldByGraphs(of, found);
  const lines = [
    ['holds', element('span', { title: exactly(group.bytes[span], least, group.errors[span]) }, held)],
    ...(found.length ? [['freed', fate(of, found)]] : []),
    ...(graphs ? [['graphs', graphs]] : []),
    ['report', copied(commandOf(app, log, heap, of.at))],
  ];
  return element(
    'dl',
    { class: 'facts' },
    ...lines.flatMap(([label, text]) => [element('dt', {}, label), element('dd', {}, text)]),
  );
}

/** Returns a word that a shell reads as one. @param {string} word */
const shellWord = (word) => (/^[\w.,:=@%+/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Returns the command that prints the same numbers. @param {App} app @param {Log} log @param {Heap} heap
 *  @param {number} at */
function commandOf(app, log, heap, at) {
  const { by } = app.state,
    grouping = by === 'auto' || by === log.best ? '' : ` --by ${by}`;
  return `memprof-report peaks --at ${clock(at)}${grouping} --heap ${heap.name} ${shellWord(log.file)}`;
}

const SHOWN = 12;

/** Returns the time and the range of a block's free. @param {Pinned} of @param {number} i */
function freedText(of, i) {
  const { log, heap, at } = of,
    { blocks } = heap,
    freer = blocks.freer[i] - 1; // -1 if unknown
  if (isKept(of, i)) return 'never';
  const where = freer >= 0 ? `, ${instanceAt(log, freer, blocks.to[i])}` : '';
  return `${duration(blocks.to[i] - at)} later${where}`;
}

/** Returns the table of the blocks. @param {App} app @param {Pinned} of @param {number[]} found */
function blockTable(app, of, found) {
  const { log, heap, at } = of,
    { blocks } = heap,
    isTorch = heap.name.endsWith('/torch'),
    segment = isTorch ? segmentOf(log, heap, at) : null,
    more = found.length - SHOWN;
  const made = table(
    more > 0 ? `the ${count(SHOWN)} largest of ${several(found.length, 'block')} that the page keeps` : '',
    ['block', 'age', 'allocated at', 'allocated in', 'call', ...(isTorch ? ['segment'] : []), 'freed'],
    found.slice(0, SHOWN).map((i) => {
      const stacks = stacksOf(log, blocks, i);
      return row([
        element(
          'button',
          {
            type: 'button',
            class: 'name',
            title: `${count(blocks.size[i])} bytes at ${address(blocks, i)}\nits life, stacks and ranges`,
            onclick: () => app.showBlock(log, heap, i),
          },
          size(blocks.size[i]),
        ),
        duration(at - blocks.from[i]),
        time(blocks.from[i], 1e3),
        instanceAt(log, blocks.thread[i], blocks.from[i]),
        element(
          'span',
          { title: stacks.map(({ name, frames }) => [`${name}, innermost first`, ...frames].join('\n')).join('\n\n') },
          stacks[0]?.frames[0] ?? '',
        ),
        ...(segment ? [segment(blocks, i)] : []),
        freedText(of, i),
      ]);
    }),
  );
  made.classList.add('explained');
  return made;
}

const FRAMES = 12;

/** Returns the call stacks of the largest block. @param {Pinned} of @param {number} i */
const stacks = ({ log, heap }, i) =>
  stacksOf(log, heap.blocks, i).map(({ name, frames }) =>
    element(
      'div',
      { class: 'stack' },
      element('span', {}, `${name} of the largest block, innermost first`),
      element('ol', {}, ...frames.slice(0, FRAMES).map((frame) => element('li', {}, frame))),
    ),
  );

/** Returns a line for a band of which the page keeps no block. @param {Pinned} of */
const missing = ({ heap }) =>
  element(
    'p',
    { class: 'open' },
    isEstimated(heap)
      ? 'no sample of it was live then'
      : 'the page keeps the largest blocks of any time, and none of them is in this band',
  );

/** Returns the panel, or null if the newest pin is of no band. @param {App} app */
export function explainPanel(app) {
  const of = pinnedBand(app);
  if (!of) return null;
  const { log, heap, group } = of,
    found = blocksOf(app, of),
    role = app.runs().length > 1 ? `${app.roleOf(log)} ` : '';
  const go = (/** @type {string} */ selector) => () =>
    app.root.querySelector(selector)?.scrollIntoView({ block: 'start' });
  return panel(
    { 'data-panel': 'explain', tabindex: 0 },
    {
      name: 'explained',
      text: () => blocksCsv(of, found),
      tools: [
        button('flame graph', 'show it in the flame graph', () => {
          app.flame?.goTo(group.name);
          go('[data-panel="flame"]')();
        }),
        button('table', 'show all names at this instant', go('[data-panel="pin"]')),
        button('only this', 'show this band alone', () => app.solo(group.name), app.state.only === group.name),
        button('×', 'take the pins away (Esc)', () => app.clear()),
      ],
    },
    [
      element('span', { class: 'name' }, swatch(fill(app.slot(group), app.dark)), nameText(group.name)),
      element('span', { class: 'sub' }, `${role}${heap.name} at `, timeText(of.at)),
    ],
    facts(app, of, found),
    ...(found.length ? [blockTable(app, of, found), ...stacks(of, found[0])] : [missing(of)]),
  );
}

/** Returns the blocks as CSV. @param {Pinned} of @param {number[]} found */
function blocksCsv(of, found) {
  const { log, heap } = of,
    { blocks } = heap,
    head = ['bytes', 'address', 'allocated_ns', 'freed_ns', 'thread', 'call'];
  return csv([
    head,
    ...found.map((i) => [
      blocks.size[i],
      address(blocks, i),
      blocks.from[i],
      isKept(of, i) ? '' : blocks.to[i],
      log.threads[blocks.thread[i]] ?? '',
      stacksOf(log, blocks, i)[0]?.frames[0] ?? '',
    ]),
  ]);
}
