/** Columns of LEB128 numbers, exact up to 2^53. */
export class Columns {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  number() {
    let value = 0,
      scale = 1,
      byte;
    do {
      if (this.at >= this.bytes.length) throw new Error('the data ends too early');
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    return value;
  }

  /** A number with a sign (zigzag). */
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  /** @param {number} count */
  plain(count) {
    const out = new Float64Array(count);
    for (let i = 0; i < count; i++) out[i] = this.number();
    return out;
  }

  /** Each the sum of all up to it. @param {number} count */
  sums(count) {
    const out = new Float64Array(count);
    for (let i = 0, sum = 0; i < count; i++) out[i] = sum += this.number();
    return out;
  }

  /** As sums, of numbers with signs. @param {number} count */
  signedSums(count) {
    const out = new Float64Array(count);
    for (let i = 0, sum = 0; i < count; i++) out[i] = sum += this.signed();
    return out;
  }
}
