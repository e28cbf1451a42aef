import { Id } from '../../generated/limits.ts'

/** The form of every id in the contract: of users, devices, records and events. */
export const idForm = `${Id.minLength} to ${Id.maxLength} printable ASCII characters, but neither . nor ..`

const characters = new RegExp(Id.pattern)

/** True if the service accepts this as an id. Ids contain no NUL, so NUL can separate them in associated data. */
export function isId(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length >= Id.minLength && value.length <= Id.maxLength && characters.test(value)
  )
}

/** @throws RangeError */
export function assertId(value: unknown, name: string): void {
  if (!isId(value)) throw new RangeError(`${name} must be ${idForm}, not ${JSON.stringify(value)}`)
}

/** 512 random numbers at a time: one call of `getRandomValues` per id would double the time that an id takes. */
const random = new Uint16Array(512)
let used = 0
let last = 0
let count = 0

/** A UUID of version 7 (RFC 9562), greater than the last: 48 bits of time (Unix ms), 12 of a counter, 62 random ones. */
export function uuidv7(): string {
  const now = Date.now()
  count = now > last ? 0 : (count + 1) % 4096
  last = Math.max(now, count === 0 ? last + 1 : last)
  const time = toHex(last, 12).replace(/.{8}/, '$&-')
  const variant = toHex(0x8000 | (random16() >> 2), 4)
  return `${time}-7${toHex(count, 3)}-${variant}-${toHex(random16(), 4)}${toHex(random16(), 4)}${toHex(random16(), 4)}`
}

function random16(): number {
  used %= random.length
  if (!used) crypto.getRandomValues(random)
  return random[used++] as number
}

function toHex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
