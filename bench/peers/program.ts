import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** It ends with this process, however that ends; the first line is the program's id. */
const untilInputEnds = '"$0" "$@" >/dev/null 2>&1 & echo $!; read line; kill -KILL $!; wait'
const readyWithinMs = 30_000

export interface Program {
  pid: number
  stop(): Promise<void>
}

/** Starts a program and waits until the URL answers. */
export async function runProgram(command: [string, ...string[]], url: string): Promise<Program> {
  const shell: ChildProcess = spawn('sh', ['-c', untilInputEnds, ...command], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [pid] = await once(createInterface({ input: shell.stdout as NodeJS.ReadableStream }), 'line')
  const stop = async () => {
    shell.stdin?.end()
    await once(shell, 'exit')
  }
  for (const end = Date.now() + readyWithinMs; !(await answers(url)); await sleep(20)) {
    if (Date.now() < end) continue
    await stop()
    throw new Error(`${command[0]} does not become ready`)
  }
  return { pid: Number(pid), stop }
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined)
  await answer?.body?.cancel()
  return answer !== undefined
}
