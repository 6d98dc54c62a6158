/** Changes numbers in place, because a copy would be just as large. @param {Float64Array} numbers
 *  @param {(number: number, i: number) => number} to */
export function changed(numbers, to) {
  for (let i = 0; i < numbers.length; i++) numbers[i] = to(numbers[i], i);
  return numbers;
}

const SMALL = 2 ** 31; // smaller numbers are decoded with bit operations

/** Reads columns of LEB128 numbers, exact up to 2^53. */
export class Columns {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** Reads unsigned numbers. Most of them are one byte. @param {number} count */
  plain(count) {
    const out = new Float64Array(count),
      { bytes } = this;
    let { at } = this;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++]; // undefined after the end, which is checked below
      if (byte < 128) {
        out[i] = byte;
        continue;
      }
      let value = byte & 127;
      for (let scale = 128; byte & 128; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      out[i] = value;
    }
    if (at > bytes.length) throw new Error('the data ends too early');
    this.at = at;
    return out;
  }

  number() {
    return this.plain(1)[0];
  }

  // separate loops: a function call for each number would take as long as everything else

  /** Reads numbers with signs (zigzag). @param {number} count */
  signed(count) {
    const out = this.plain(count);
    for (let i = 0; i < count; i++) {
      const n = out[i];
      if (n < SMALL) out[i] = (n >>> 1) ^ -(n & 1);
      else out[i] = n % 2 ? -(n + 1) / 2 : n / 2;
    }
    return out;
  }

  /** Reads running sums: each number is added to all before it. @param {number} count */
  sums(count) {
    return summed(this.plain(count));
  }

  /** Reads running sums of numbers with signs. @param {number} count */
  signedSums(count) {
    return summed(this.signed(count));
  }
}

/** @param {Float64Array} numbers */
function summed(numbers) {
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) numbers[i] = sum += numbers[i];
  return numbers;
}
