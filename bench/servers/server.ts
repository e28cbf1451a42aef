import type { Account } from '../worker/apis/api.ts'

/** A server in a process of its own. */
export interface Server {
  pid: number
  origin: string
  /** Somebody who has nothing yet. */
  newUser(): Promise<Account>
  close(): Promise<void>
}

export interface Prepared {
  /** Starts a server that leaves the data for the next one. */
  restart(): Promise<Server>
  remove(): Promise<void>
}

/** What starts servers of a kind, each on data of its own. */
export interface Contender {
  prepare(): Promise<Prepared>
}

/** A server whose data goes with it. */
export async function startOn({ restart, remove }: Prepared): Promise<Server> {
  const server = await restart()
  return {
    ...server,
    async close() {
      await server.close()
      await remove()
    },
  }
}
