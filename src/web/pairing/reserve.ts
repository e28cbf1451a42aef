import type { Client } from '../../client/index.ts'
import { PairingError, reservePairing } from '../../client/pair.ts'
import { forgetCode, readScanned } from './code.ts'

/** Reserves the scanned code, so that there is time to sign in. Returns false if the code cannot be used any more. */
export async function reserveScanned(client: Client): Promise<boolean> {
  try {
    await reservePairing(client, readScanned())
    return true
  } catch (error) {
    if (!(error instanceof PairingError)) throw error
    forgetCode()
    return false
  }
}
