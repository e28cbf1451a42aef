/** The program of a worker process, which does one task after another. */
import * as load from './load.ts'
import * as raw from './raw.ts'
import * as sockets from './sockets.ts'

/** All tasks of a worker, by name. */
const works = { ...load, ...sockets, ...raw }

export type Works = typeof works

export interface Order {
  work: keyof Works
  args: unknown[]
}

export type Answer = { result: unknown } | { error: string }

process.once('disconnect', () => process.exit())
process.on('message', async ({ work, args }: Order) => {
  const run = works[work] as (...args: unknown[]) => Promise<unknown>
  const answer: Answer = await run(...args).then(
    (result) => ({ result }),
    (error: Error) => ({ error: `${work}: ${error.stack}` }),
  )
  process.send?.(answer)
})
process.send?.('ready')
