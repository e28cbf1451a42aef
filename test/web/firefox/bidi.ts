import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import { folder } from '../../support/service.ts'

/** Sends a command of WebDriver BiDi, and returns the result. @throws Error of Firefox */
export type Command = <Result>(method: string, params: object) => Promise<Result>

interface Answer {
  id: number
  type: 'success' | 'error'
  result: unknown
  error?: string
  message?: string
}

/**
 * A headless Firefox of its own profile that lets tests into the pages of extensions. Playwright loses sight of those: Firefox
 * shows them in a process of their own, and does not tell of every document there.
 */
export async function startFirefox(t: Test, program: string, preferences: object): Promise<Command> {
  const profile = await folder(t)
  const lines = Object.entries(preferences).map(
    (preference) => `user_pref(${JSON.stringify(preference).slice(1, -1)});`,
  )
  await writeFile(join(profile, 'user.js'), lines.join('\n'))
  const system = ['--remote-debugging-port=0', '--remote-allow-system-access']
  const child = spawn(program, ['--headless', '--no-remote', '--profile', profile, ...system], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const address = Promise.withResolvers<string>()
  createInterface(child.stderr).on('line', (line) => {
    const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? []
    if (found) address.resolve(found)
  })
  const command = await connect(`${await address.promise}/session`)
  await command('session.new', { capabilities: {} })
  return command
}

async function connect(address: string): Promise<Command> {
  const socket = new WebSocket(address)
  await once(socket, 'open')
  const waiting = new Map<number, (answer: Answer) => void>()
  socket.on('message', (data) => {
    const answer = JSON.parse(`${data}`) as Answer
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  let lastId = 0
  return async <Result>(method: string, params: object) => {
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<Answer>()
    waiting.set(id, resolve)
    socket.send(JSON.stringify({ id, method, params }))
    const { type, result, error, message } = await promise
    if (type === 'error') throw new Error(`${error}: ${message}`)
    return result as Result
  }
}
