import { utf8ToBytes } from '@noble/hashes/utils.js'
import { KeyringError } from '../errors.ts'
import { onDemand } from '../timing/on-demand.ts'

/** Parameters of Argon2id (RFC 9106). */
export interface KdfParameters {
  kdf: 'argon2id'
  memory_kib: number
  iterations: number
  parallelism: number
}

/** The parameters for new passphrases: about a third of a second on a laptop. */
export const KDF_PARAMETERS: KdfParameters = { kdf: 'argon2id', memory_kib: 65_536, iterations: 3, parallelism: 1 }

// The keyring comes from the service. Weaker parameters would let it guess the passphrase, stronger ones stall the client.
const BOUNDS = { memory_kib: [65_536, 262_144], iterations: [3, 10], parallelism: [1, 4] } as const

/** @throws KeyringError `weak-kdf`, `excessive-kdf`, naming the parameter */
export function checkKdfParameters(parameters: KdfParameters): void {
  for (const name of ['memory_kib', 'iterations', 'parallelism'] as const) {
    const [least, most] = BOUNDS[name]
    const value = parameters[name]
    const fault = value < least ? 'weak-kdf' : value > most ? 'excessive-kdf' : undefined
    if (fault) throw new KeyringError(fault, `The keyring's ${name} is ${value}; ${least} to ${most} is accepted`)
  }
}

/**
 * Derives a 32-byte key from a passphrase (Unicode NFKC, UTF-8). The first call loads the WebAssembly of Argon2id.
 *
 * @throws KeyringError `empty-passphrase`
 */
export async function stretchPassphrase(passphrase: string, salt: Uint8Array, parameters: KdfParameters) {
  if (passphrase === '') throw new KeyringError('empty-passphrase', 'The passphrase is empty')
  const { argon2id } = await onDemand(import('./argon2id.ts'))
  return argon2id({
    password: utf8ToBytes(passphrase.normalize('NFKC')),
    salt,
    memorySize: parameters.memory_kib,
    iterations: parameters.iterations,
    parallelism: parameters.parallelism,
    hashLength: 32,
    outputType: 'binary',
  })
}
