import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Order, Works } from './process.ts'

const file = fileURLToPath(new URL('process.ts', import.meta.url))

/** A process for the load, or for the same work without the service, so that the bench cannot block its event loop. */
export interface Worker {
  run<Work extends keyof Works>(work: Work, ...args: Parameters<Works[Work]>): ReturnType<Works[Work]>
  close(): Promise<void>
}

export async function startWorker(): Promise<Worker> {
  const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(child, 'message')
  const ended = once(child, 'exit').then(() => {
    throw new Error('The worker has ended')
  })
  ended.catch(() => {})
  return {
    run: (async (work, ...args) => {
      child.send({ work, args } satisfies Order)
      const [answer] = (await Promise.race([once(child, 'message'), ended])) as [Answer]
      if ('error' in answer) throw new Error(answer.error)
      return answer.result
    }) as Worker['run'],
    async close() {
      child.disconnect()
      await ended.catch(() => {})
    },
  }
}
