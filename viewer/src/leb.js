/** In the place of what they were: a copy would be as large. @param {Float64Array} numbers @param {(number: number, i: number) => number} to */
export function changed(numbers, to) {
  for (let i = 0; i < numbers.length; i++) numbers[i] = to(numbers[i], i);
  return numbers;
}

/** Columns of LEB128 numbers, exact up to 2^53. */
export class Columns {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** @param {number} count */
  plain(count) {
    const out = new Float64Array(count),
      { bytes } = this;
    let { at } = this;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++], // undefined behind the end, which is told below
        value = byte & 127;
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

  /** Numbers with signs (zigzag). @param {number} count */
  signed(count) {
    return changed(this.plain(count), (n) => (n % 2 ? -(n + 1) / 2 : n / 2));
  }

  /** Each the sum of all up to it. @param {number} count */
  sums(count) {
    let sum = 0;
    return changed(this.plain(count), (n) => (sum += n));
  }

  /** As sums, of numbers with signs. @param {number} count */
  signedSums(count) {
    let sum = 0;
    return changed(this.signed(count), (n) => (sum += n));
  }
}
