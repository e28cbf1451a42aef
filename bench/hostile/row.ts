import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { spawnService } from '../../scripts/servers/service.ts'
import type { Context } from '../../src/service/context.ts'
import { createDatabase } from '../data/database.ts'
import type { Attack } from './attack.ts'
import { limitFiles, watchMemory } from './process.ts'
import { openSeed, signInPeople } from './seed.ts'
import { type Felt, startVictim } from './victim.ts'

const aloneMs = 6_000
const attackMs = 8_000
/** As on a small machine. It also keeps an attack from taking all of this one's memory. */
const heap = '--max-old-space-size=1024'
const attackerFile = fileURLToPath(new URL('attacker.ts', import.meta.url))

export interface Row {
  alone: Felt
  attacked: Felt
  bytesAboveIdle: number
  complaint: string | undefined
}

/** The victim works alone, then during the attack, with a service that has just been started. */
export async function playRow(name: string, attack: Attack, postgresUrl: string | undefined): Promise<Row> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'ebs-hostile-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const database = postgresUrl === undefined ? {} : { DATABASE_URL: await createDatabase(postgresUrl, name) }
  const people = await signInPeople(folder, database, attack)

  const settings = { ...database, ...attack.settings }
  const options = [heap, attack.settings?.NODE_OPTIONS ?? ''].join(' ')
  const service = await spawnService(folder, { ...settings, NODE_OPTIONS: options })
  opened.defer(() => kill(service))
  await service.ready()
  if (attack.files) await limitFiles(service.pid, attack.files)
  const port = Number(service.url.port)
  const attacker = opened.adopt(await startAttacker(name), (it) => void it.kill('SIGKILL'))
  const victim = opened.adopt(await startVictim(port, people.victim), (it) => it.close())
  const memory = opened.adopt(watchMemory(service.pid), (it) => it.stop())

  const alone = await victim.work(aloneMs)
  attacker.send({ port, pid: service.pid, attacker: people.attacker })
  const working = victim.work(attackMs)
  await sleep(attackMs)
  attacker.kill('SIGKILL')
  const attacked = await working
  await kill(service)
  const complaint = attack.complaint && (await complaintOf(attack.complaint, folder, database))
  return { alone, attacked, bytesAboveIdle: memory.bytesAboveStart(), complaint }
}

async function complaintOf(
  find: (context: Context) => Promise<string | undefined>,
  folder: string,
  database: Record<string, string>,
): Promise<string | undefined> {
  const context = await openSeed(folder, database)
  try {
    return await find(context)
  } finally {
    await context.close()
  }
}

/** It may be too busy for a signal that it can handle. */
async function kill({ pid, exited }: { pid: number; exited: Promise<string> }): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  await exited
}

async function startAttacker(name: string): Promise<ChildProcess> {
  const attacker = fork(attackerFile, [name], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  await once(attacker, 'message')
  return attacker
}
