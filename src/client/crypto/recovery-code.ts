import { bytesToHex } from '@noble/hashes/utils.js'
import { KeyringError } from '../errors.ts'

// Crockford's base32 (https://www.crockford.com/base32.html): no I, L, O, U; the check symbol is the value modulo 37.
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CHECK_SYMBOLS = `${DIGITS}*~$=U`
/** The number of symbols in a code, including the check symbol. */
export const codeLength = 27

/** Formats 16 bytes as a recovery code: 26 digits and a check symbol in groups of three, `00N-5GQ-…`. */
export function formatRecoveryCode(bytes: Uint8Array): string {
  const value = BigInt(`0x${bytesToHex(bytes)}`)
  let code = checkSymbol(value)
  for (let rest = value; code.length < codeLength; rest >>= 5n) code = DIGITS.charAt(Number(rest & 31n)) + code
  return code.replace(/...(?=.)/g, '$&-')
}

/**
 * Reads a recovery code as people type it: any case, spaces, dashes, `.`, `,` or `_`, O for 0, I and L for 1.
 * Detects every single wrong character and every swap of two neighbouring ones.
 *
 * @returns its 16 bytes
 * @throws KeyringError `mistyped-recovery-code`
 */
export function parseRecoveryCode(typed: string): Uint8Array {
  const code = charactersOf(typed)
  if (code.length !== codeLength) throw mistyped(`it has ${code.length} characters instead of ${codeLength}`)
  let value = 0n
  for (const digit of code.slice(0, -1)) {
    const place = DIGITS.indexOf(digit)
    if (place < 0) throw mistyped(`it cannot contain ${JSON.stringify(digit)}`)
    value = value * 32n + BigInt(place)
  }
  if (code.slice(-1) !== checkSymbol(value) || value >= 2n ** 128n) {
    throw mistyped('its last character does not match the others')
  }
  return Uint8Array.from({ length: 16 }, (_, index) => Number((value >> BigInt(8 * (15 - index))) & 255n))
}

function checkSymbol(value: bigint): string {
  return CHECK_SYMBOLS.charAt(Number(value % 37n))
}

/** The characters of a typed code, without separators, in upper case, and with digits for O, I and L. */
export function charactersOf(typed: string): string {
  const characters = typed.normalize('NFKC').toUpperCase()
  return characters
    .replace(/[\s\p{Pd}\p{Cf}.,_]/gu, '')
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1')
}

function mistyped(reason: string): KeyringError {
  return new KeyringError('mistyped-recovery-code', `The recovery code has a typing mistake: ${reason}`)
}
