import type { Contender } from '../servers/server.ts'
import { preparePocketbase } from './pocketbase.ts'
import { preparePouchdb } from './pouchdb.ts'

const peers: Record<string, Contender> = {
  PocketBase: { prepare: preparePocketbase },
  'PouchDB server': { prepare: preparePouchdb },
}

/** Those that can be built or installed here. */
export async function findPeers(): Promise<Record<string, Contender>> {
  const found: Record<string, Contender> = {}
  for (const [name, peer] of Object.entries(peers)) {
    try {
      const { remove } = await peer.prepare()
      await remove()
      found[name] = peer
    } catch (error) {
      console.error(`${name} is left out: ${(error as Error).message}`)
    }
  }
  return found
}
