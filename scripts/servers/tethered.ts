import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Every server is ready in less than this, even on a busy machine. */
const readyWithinMs = 300_000

export interface TetheredServer {
  /** Resolves when the server is ready. It can be started again after a stop. */
  start(): Promise<void>
  /** The program's process id, while it runs. */
  pid(): number
  /** Sends `lastSignal` and waits for the end. */
  stop(): Promise<void>
}

interface Options extends Pick<SpawnOptions, 'env' | 'uid' | 'gid'> {
  lastSignal: 'KILL' | 'QUIT'
  isReady(): Promise<boolean>
}

/**
 * A program that ends with this process: a shell sends it `lastSignal` when the pipe from this process ends. It has
 * its own process group, so Ctrl-C reaches only this process, which stops the program when nothing uses it any more.
 */
export function tethered(
  command: readonly [string, ...string[]],
  { lastSignal, isReady, ...options }: Options,
): TetheredServer {
  const untilInputEnds = `"$0" "$@" & read line; kill -${lastSignal} $!; wait`
  let running: ChildProcess | undefined
  return {
    async start() {
      if (running) return
      const stdio: SpawnOptions['stdio'] = ['pipe', 'ignore', 'ignore']
      running = spawn('sh', ['-c', untilInputEnds, ...command], { ...options, detached: true, stdio })
      for (const end = Date.now() + readyWithinMs; !(await isReady()); await sleep(20)) {
        if (Date.now() > end) throw new Error(`${command[0]} does not become ready`)
      }
    },
    // The program is the only child of the shell.
    pid: () => Number(readFileSync(`/proc/${running?.pid}/task/${running?.pid}/children`, 'utf8')),
    async stop() {
      const stopping = running
      running = undefined
      if (!stopping) return
      stopping.stdin?.end()
      await once(stopping, 'exit')
    },
  }
}
