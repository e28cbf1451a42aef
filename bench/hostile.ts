import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPostgres } from '../scripts/servers/postgres.ts'
import { spawnService } from '../scripts/servers/service.ts'
import type { Context } from '../src/service/context.ts'
import { UsageError } from '../src/service/terminal/command.ts'
import { createDatabase } from './data.ts'
import type { Attack } from './hostile/attack.ts'
import { attacks } from './hostile/attacks.ts'
import { openSeed, signInPeople } from './hostile/seed.ts'
import { type Felt, startVictim } from './hostile/victim.ts'
import { memoryOf } from './servers/service.ts'
import { percentile } from './worker/http.ts'

const aloneMs = 6_000
const attackMs = 8_000
const mebibyte = 1024 * 1024
const maxRatio = 3
const graceMs = 100
const maxBytes = 256 * mebibyte
const memoryEveryMs = 100
/** As on a small machine. It also keeps an attack from taking all of this one's memory. */
const heap = '--max-old-space-size=1024'
const attackerFile = fileURLToPath(new URL('hostile/attacker.ts', import.meta.url))

/** Plays each attack, or the named ones, against a service of its own. Returns the exit status: 1 if a row fails. */
export async function playAttacks(named: string[], onPostgres: boolean): Promise<number> {
  const unknown = named.filter((name) => !Object.hasOwn(attacks, name))
  if (unknown.length > 0)
    throw new UsageError(`there is no row ${unknown.join(', ')}; the rows are ${Object.keys(attacks).join(', ')}`)
  await using opened = new AsyncDisposableStack()
  const postgres = onPostgres ? opened.adopt(await startPostgres(), (it) => it.close()) : undefined
  const chosen = Object.entries(attacks).filter(([name]) => named.length === 0 || named.includes(name))

  printHeading()
  let status = 0
  for (const [name, attack] of chosen) {
    if (attack.needsPostgres && !postgres) {
      console.log(`${name}: skipped, as it needs --postgres`)
      continue
    }
    const failures = printRow(name, await play(name, attack, postgres?.url))
    if (failures.length > 0) status = 1
  }
  return status
}

interface Outcome {
  alone: Felt
  attacked: Felt
  bytesAboveIdle: number
  complaint: string | undefined
}

/** The victim works alone, then during the attack, with a service that has just been started. */
async function play(name: string, attack: Attack, postgresUrl: string | undefined): Promise<Outcome> {
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

function printHeading(): void {
  console.log('What a second user felt, alone and during the attack (p50 and p99 in ms, answers that were no success,')
  console.log('calls without an answer), and the memory that the service took above idle:\n')
  console.log(line(['row', 'alone', 'attacked', 'refused', 'lost', 'MiB', '']))
}

/** Returns what the row fails for. */
function printRow(name: string, row: Outcome): string[] {
  const { alone, attacked, bytesAboveIdle } = row
  const failures = failuresOf(row)
  const figures = [`${attacked.refused}`, `${attacked.lost}`, `${Math.round(bytesAboveIdle / mebibyte)}`]
  const verdict = failures.length === 0 ? 'passes' : `FAILS: ${failures.join(', ')}`
  console.log(line([name, times(alone), times(attacked), ...figures, verdict]))
  return failures
}

function failuresOf({ alone, attacked, bytesAboveIdle, complaint }: Outcome): string[] {
  const checks: Record<string, boolean> = {
    p99: percentile(attacked.times, 99) > maxRatio * percentile(alone.times, 99) + graceMs,
    refused: attacked.refused > 0,
    lost: attacked.lost > 0,
    memory: bytesAboveIdle > maxBytes,
    'something was wrong before the attack': alone.refused + alone.lost > 0,
  }
  const failed = Object.keys(checks).filter((name) => checks[name])
  return complaint === undefined ? failed : [...failed, complaint]
}

function times({ times }: Felt): string {
  return [50, 99].map((percent) => Math.round(percentile(times, percent))).join(' / ')
}

function line([name = '', alone = '', attacked = '', refused = '', lost = '', memory = '', verdict = '']: string[]) {
  const figures = [alone.padStart(12), attacked.padStart(16), refused.padStart(9), lost.padStart(6), memory.padStart(6)]
  return `${name.padEnd(18)}${figures.join('')}   ${verdict}`.trimEnd()
}

/** Node raises its soft limit to the hard one, so both are set. */
async function limitFiles(pid: number, files: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, `--nofile=${files}:${files}`])
}

/** The process's memory (RSS) at its highest, from now on. A process that has ended keeps its last figure. */
function watchMemory(pid: number): { bytesAboveStart(): number; stop(): void } {
  // Resets the peak that the kernel keeps.
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const idle = memoryOf(pid).now
  let peak = idle
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(pid))
  }, memoryEveryMs)
  return { bytesAboveStart: () => peak - idle, stop: () => clearInterval(timer) }
}

/** Of a process that has ended, nothing can be read. */
function peakOf(pid: number): number {
  try {
    return memoryOf(pid).peak || 0
  } catch {
    return 0
  }
}
