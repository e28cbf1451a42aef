import { createHash } from 'node:crypto'

interface Hashed {
  data_hash?: string | null
}

/** The contract's `digest` of live records, computed from scratch and differently than by the service. */
export function digestOf(live: Hashed[]): string {
  const sum = live.reduce((sum, { data_hash }) => sum + BigInt(`0x${digitsOf(data_hash ?? '')}`), 0n)
  return (sum % 2n ** 128n).toString(16).padStart(32, '0')
}

function digitsOf(hash: string): string {
  const [digits] = hash.match(/^[\da-f]{32}/i) ?? []
  return digits ?? createHash('sha256').update(hash).digest('hex').slice(0, 32)
}
