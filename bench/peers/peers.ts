import type { Contender } from '../servers/service.ts'
import { preparePocketbase } from './pocketbase.ts'
import { preparePouchdb } from './pouchdb.ts'

const peers = { PocketBase: preparePocketbase, 'PouchDB server': preparePouchdb }

/** The other products that can be built or installed on this machine. Their data is in folders of `root`. */
export async function findPeers(root: string): Promise<Record<string, Contender>> {
  const found: Record<string, Contender> = {}
  for (const [name, prepare] of Object.entries(peers)) {
    try {
      const { remove } = await prepare(root)
      await remove()
      found[name] = { prepare: () => prepare(root) }
    } catch (error) {
      console.error(`${name} is left out: ${(error as Error).message}`)
    }
  }
  return found
}
