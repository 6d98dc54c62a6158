/** In the place of what they were: a copy would be as large. @param {Float64Array} numbers @param {(number: number, i: number) => number} to */
export function changed(numbers, to) {
  for (let i = 0; i < numbers.length; i++) numbers[i] = to(numbers[i], i);
  return numbers;
}

const SMALL = 2 ** 31; // less is told from its bits

/** Columns of LEB128 numbers, exact up to 2^53. */
export class Columns {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** Most numbers are one byte. @param {number} count */
  plain(count) {
    const out = new Float64Array(count),
      { bytes } = this;
    let { at } = this;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++]; // undefined behind the end, which is told below
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

  // loops of their own: a function that is called for each number takes as long as all the rest

  /** Numbers with signs (zigzag). @param {number} count */
  signed(count) {
    const out = this.plain(count);
    for (let i = 0; i < count; i++) {
      const n = out[i];
      if (n < SMALL) out[i] = (n >>> 1) ^ -(n & 1);
      else out[i] = n % 2 ? -(n + 1) / 2 : n / 2;
    }
    return out;
  }

  /** Each the sum of all up to it. @param {number} count */
  sums(count) {
    return summed(this.plain(count));
  }

  /** As sums, of numbers with signs. @param {number} count */
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
