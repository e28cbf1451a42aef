import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdtempDisposable, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPostgres } from '../scripts/servers/postgres.ts'
import { spawnService } from '../scripts/servers/service.ts'
import type { Context } from '../src/service/context.ts'
import { UsageError } from '../src/service/terminal/command.ts'
import { createDatabase } from './data.ts'
import { usedBytes } from './hostile/accounts.ts'
import type { Attack, AttackTarget, Kind } from './hostile/attack.ts'
import { attacks } from './hostile/attacks.ts'
import { openSeed, type Place, prepareAccount, signInPeople } from './hostile/seed.ts'
import { startVictim, type VictimTimes } from './hostile/victim.ts'
import { memoryOf } from './servers/service.ts'
import { percentile } from './worker/http.ts'

const aloneMs = 6_000
const attackMs = 8_000
const mebibyte = 1024 * 1024
const maxRatio = 3
const graceMs = 100
/** The victim's slowest call during stages may take this many ms or, if more, this multiple of its p99 before them. */
const [minSlowestMs, maxSlowestRatio] = [250, 20]
const maxStageMs = 60_000
const afterStageMs = 2_000
const maxBytes = 256 * mebibyte
/** Memory limit if several accounts attack: one account gets only a share of the slots for requests (load/gate.ts). */
const maxBytesTogether = 384 * mebibyte
const memoryEveryMs = 100
/** The heap of a small machine (MiB). With Node's default, an attack could use up the memory of this machine. */
const heap = '--max-old-space-size=1024'
const attackerFile = fileURLToPath(new URL('hostile/attacker.ts', import.meta.url))

/** Plays all attacks, or the named ones, and prints a row for each. Returns the exit status: 1 if one fails. */
export async function playAttacks(named: string[], onPostgres: boolean): Promise<number> {
  const isNamed = (row: string) => named.some((name) => row === name || row.startsWith(`${name}:`))
  const unknown = named.filter(
    (name) => !Object.keys(attacks).some((row) => row === name || row.startsWith(`${name}:`)),
  )
  if (unknown.length > 0)
    throw new UsageError(`there is no row ${unknown.join(', ')}; the rows are ${Object.keys(attacks).join(', ')}`)
  await using opened = new AsyncDisposableStack()
  const { path: root } = opened.use(await mkdtempDisposable(join(tmpdir(), 'ebs-hostile-')))
  const postgres = onPostgres ? opened.adopt(await startPostgres(), (it) => it.close()) : undefined
  const chosen = Object.entries(attacks).filter(([row]) => named.length === 0 || isNamed(row))
  const copiers = new Map<Kind, ReturnType<typeof prepareAccount>>()

  async function prepare(name: string, attack: Attack): Promise<Place> {
    const { account } = attack
    if (account) {
      const copy = copiers.get(account) ?? prepareAccount(root, account, postgres?.url)
      copiers.set(account, copy)
      return (await copy)(name)
    }
    const folder = join(root, name)
    const database = postgres ? { DATABASE_URL: await createDatabase(postgres.url, name) } : {}
    return { folder, database, ...(await signInPeople(folder, database, attack)) }
  }

  printHeading()
  let status = 0
  for (const [name, attack] of chosen) {
    if (attack.needsPostgres && !postgres) {
      console.log(`${name}: skipped, as it needs --postgres`)
      continue
    }
    const place = await prepare(name, attack)
    const outcome = await play(name, attack, place)
    await rm(place.folder, { recursive: true, force: true })
    if (printRow(name, outcome).length > 0) status = 1
  }
  return status
}

interface Outcome {
  alone: VictimTimes
  /** The victim's times in each stage of the attack. */
  attacked: VictimTimes[]
  bytesAboveIdle: number
  mostBytes: number
  complaint: string | undefined
  /** The result of each stage, such as `32 x 200` (calls by status) or `256 sockets`. Empty if there are no stages. */
  answers: string[]
}

/** Starts the service. The victim uses it alone at first, and then during the attack. */
async function play(name: string, attack: Attack, place: Place): Promise<Outcome> {
  await using opened = new AsyncDisposableStack()
  const { folder, database, account } = place
  const full = account && { MAX_USER_BYTES: String(usedBytes(account)) }
  const settings = { ...database, ...full, ...attack.settings }
  const options = [heap, attack.settings?.NODE_OPTIONS ?? ''].join(' ')
  const service = await spawnService(folder, { ...settings, NODE_OPTIONS: options })
  opened.defer(() => kill(service))
  await service.ready()
  if (attack.files) await limitFiles(service.pid, attack.files)
  const port = Number(service.url.port)
  const attacker = opened.adopt(await startAttacker(name), (it) => void it.kill('SIGKILL'))
  const victim = opened.adopt(await startVictim(port, place.victim), (it) => it.close())
  const memory = opened.adopt(watchMemory(service.pid), (it) => it.stop())

  const alone = await victim.work(sleep(aloneMs))
  const attacked: VictimTimes[] = []
  const answers: string[] = []
  const { attacker: person, accomplices } = place
  const target: AttackTarget = { port, pid: service.pid, attacker: person, accomplices, account }
  for (const _ of attack.stages ?? ['all of it']) {
    attacker.send(target)
    const over = attack.stages ? stageOf(attacker) : sleep(attackMs, undefined)
    attacked.push(await victim.work(over))
    const answer = await over
    if (answer !== undefined) answers.push(answer)
  }
  const bytesAboveIdle = memory.bytesAboveStart()
  attacker.kill('SIGKILL')
  await kill(service)
  const complaint = attack.complaint && (await complaintOf(attack.complaint, folder, database))
  const mostBytes = attack.accomplices === undefined ? maxBytes : maxBytesTogether
  return { alone, attacked, bytesAboveIdle, mostBytes, complaint, answers }
}

/** Waits, at most a minute, for the attacker's answer that ends the stage, then 2 s for after-effects. Returns the answer. */
async function stageOf(attacker: ChildProcess): Promise<string> {
  const answer = once(attacker, 'message').then(([text]) => String(text))
  const outcome = await Promise.race([answer, sleep(maxStageMs, 'not over', { ref: false })])
  await sleep(afterStageMs)
  return outcome
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

/** Uses SIGKILL, because the process may be too busy to handle another signal. */
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
  console.log(
    'How long a second user waited, alone and during the attack: p50 and p99 in ms. For calls of the contract, sent one at',
  )
  console.log(
    'a time and then at once, p50 and the slowest. Then unsuccessful responses, calls without any, and the memory that the',
  )
  console.log(
    'service took above idle. Accounts at their limits have a full quota: MAX_USER_BYTES is what they store.\n',
  )
  console.log(line(['row', 'alone', 'attacked', 'refused', 'lost', 'MiB', '']))
}

/** Prints the row and returns the reasons why it fails. */
function printRow(name: string, row: Outcome): string[] {
  const { alone, attacked, bytesAboveIdle, answers } = row
  const failures = failuresOf(row)
  const felt = answers.length > 0 ? attacked.map((one) => times(one, 100)) : attacked.map((one) => times(one))
  const sum = (of: 'refused' | 'lost') => `${attacked.reduce((all, one) => all + one[of], 0)}`
  const figures = [sum('refused'), sum('lost'), `${Math.round(bytesAboveIdle / mebibyte)}`]
  const verdict = failures.length === 0 ? 'passes' : `FAILS: ${failures.join(', ')}`
  const load = answers.length > 0 ? ` (${answers.join('; ')}; load ${loadavg()[0]?.toFixed(1)})` : ''
  console.log(line([name, times(alone), felt.join(', '), ...figures, verdict + load]))
  return failures
}

function failuresOf({ alone, attacked, bytesAboveIdle, mostBytes, complaint, answers }: Outcome): string[] {
  const p99 = percentile(alone.times, 99)
  const all = attacked.flatMap(({ times }) => times)
  const checks: Record<string, boolean> = {
    ...(answers.length > 0
      ? { slowest: percentile(all, 100) > Math.max(minSlowestMs, maxSlowestRatio * p99) }
      : { p99: percentile(all, 99) > maxRatio * p99 + graceMs, memory: bytesAboveIdle > mostBytes }),
    refused: attacked.some(({ refused }) => refused > 0),
    lost: attacked.some(({ lost }) => lost > 0),
    'something was wrong before the attack': alone.refused + alone.lost > 0,
  }
  const failed = Object.keys(checks).filter((name) => checks[name])
  return complaint === undefined ? failed : [...failed, complaint]
}

function times({ times }: VictimTimes, last = 99): string {
  return [50, last].map((percent) => Math.round(percentile(times, percent))).join(' / ')
}

function line([name = '', alone = '', attacked = '', refused = '', lost = '', memory = '', verdict = '']: string[]) {
  const figures = [alone.padStart(10), attacked.padStart(24), refused.padStart(8), lost.padStart(5), memory.padStart(5)]
  return `${name.padEnd(30)}${figures.join('')}   ${verdict}`.trimEnd()
}

async function limitFiles(pid: number, files: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, `--nofile=${files}:${files}`])
}

/** Watches the peak memory (RSS) of the process from now on. The result stays available after the process has ended. */
function watchMemory(pid: number): { bytesAboveStart(): number; stop(): void } {
  // 5 resets the peak that the kernel records (VmHWM).
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const idle = memoryOf(pid).now
  let peak = idle
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(pid))
  }, memoryEveryMs)
  return { bytesAboveStart: () => peak - idle, stop: () => clearInterval(timer) }
}

/** The peak memory in bytes, or 0 if the process has ended. */
function peakOf(pid: number): number {
  try {
    return memoryOf(pid).peak || 0
  } catch {
    return 0
  }
}
