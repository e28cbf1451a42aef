const digits = 32
/** Lists upper and lower case, because every pushed record is checked and the flag `i` is slower. */
const hexHash = new RegExp(`^[0-9a-fA-F]{${digits}}`)

/** The first 128 bits of a `data_hash`, which its record adds to the digest. Undefined if they are not hexadecimal. */
export function hexValue(hash: string): bigint | undefined {
  return hexHash.test(hash) ? BigInt(`0x${hash.slice(0, digits)}`) : undefined
}

/** Formats the sum of the live records' values as the contract's `digest`. */
export function toDigest(sum: bigint): string {
  return BigInt.asUintN(4 * digits, sum)
    .toString(16)
    .padStart(digits, '0')
}

export function fromDigest(digest: string): bigint {
  return BigInt(`0x${digest}`)
}
