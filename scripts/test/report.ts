import { cpus } from 'node:os'
import { inspect, styleText } from 'node:util'
import type { Spawn, TAP } from 'tap'

type Parser = Spawn['parser']

/** How long to wait for the end of the output after the process's exit: a child of it may keep the output open. */
const closesWithinMs = 10_000

/** Longer failures are cut to this many lines. */
const mostLines = 60

interface Ended {
  name: string
  milliseconds: number
  cpuSeconds: number
}

export class Report {
  readonly #print: (lines: string) => void
  #files: Ended[] = []
  #processes: Ended[] = []
  readonly #busyBefore = busySeconds()
  /** Processes that failed. Counted separately, because a crash is not always a failed assertion. */
  failedProcesses = 0

  constructor(print: (lines: string) => void) {
    this.#print = print
  }

  /** Waits for the end of a process, and prints its result and failures. */
  async follow(running: ReturnType<TAP['spawn']>): Promise<void> {
    const process = running.subtest
    if (!process) throw new Error('tap did not start a process')
    const failures: string[] = []
    let cpuSeconds = 0
    process.parser.on('child', (file: Parser) => collectFailures(file, failures))
    let file: Ended | undefined
    process.parser.on('assert', ({ name, time }) => {
      file = { name, milliseconds: time ?? 0, cpuSeconds: 0 }
      this.#files.push(file)
    })
    // process.ts prints its CPU time so far after each file and at the end.
    process.parser.on('comment', (comment) => {
      const until = Number(/^# cpu=([\d.]+)/.exec(comment)?.[1] ?? cpuSeconds)
      if (file) file.cpuSeconds += until - cpuSeconds
      file = undefined
      cpuSeconds = until
    })
    let leftOthers = false
    process.proc?.once('exit', () => {
      const closing = setTimeout(() => {
        leftOthers = true
        process.proc?.stdout?.destroy()
      }, closesWithinMs)
      process.proc?.once('close', () => clearTimeout(closing))
    })
    await running
    const { results, name, time, options, timedOut } = process
    const isOk = results?.ok && !leftOthers
    const reason = timedOut ? 'timed out' : leftOthers ? 'left a process that holds its output' : ''
    const end = isOk ? '' : ` (${reason || `exit ${options.signal ?? options.exitCode}`})`
    if (!isOk) this.failedProcesses += 1
    this.#processes.push({ name, milliseconds: time, cpuSeconds })
    const verdict = isOk ? styleText('green', 'ok    ') : styleText('red', 'FAILED')
    this.#print([`${verdict} ${describeTime(time)}  ${name}${end}`, ...failures].join('\n'))
  }

  /** Prints each process's share of CPU time, and the most expensive files. */
  printTimes(files: number): void {
    const all = this.#processes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
    const describe = ({ name, milliseconds, cpuSeconds }: Ended) => {
      const share = ((100 * cpuSeconds) / all).toFixed(0).padStart(3)
      return `${share} %  ${cpuSeconds.toFixed(1).padStart(5)} s of CPU ${describeTime(milliseconds)}  ${name}`
    }
    const byShare = (ended: Ended[]) => ended.toSorted((one, other) => other.cpuSeconds - one.cpuSeconds)
    const busy = (busySeconds() - this.#busyBefore).toFixed(0)
    const costly = byShare(this.#files).slice(0, files).map(describe)
    this.#print(
      [
        `\n${all.toFixed(0)} s of CPU; all processors of the machine were busy for ${busy} s:`,
        ...byShare(this.#processes).map(describe),
        '\nThe costliest files:',
        ...costly,
      ].join('\n'),
    )
  }
}

/** The CPU time of the whole machine since its start. Browsers, Postgres, MinIO and builds take a third of a run. */
function busySeconds(): number {
  return cpus().reduce((sum, { times }) => sum + (times.user + times.nice + times.sys + times.irq) / 1000, 0)
}

/** Collects failed assertions at any depth, and subtests that failed without one. */
function collectFailures(parser: Parser, failures: string[]): void {
  let before = failures.length
  parser.on('child', (child: Parser) => {
    before = failures.length
    collectFailures(child, failures)
  })
  parser.on('assert', ({ ok, skip, todo, closingTestPoint, fullname, diag }) => {
    if (ok || skip || todo || (closingTestPoint && failures.length > before)) return
    const { diff, ...others } = diag ?? {}
    const details = `${diff ?? ''}${inspect(others, { depth: 3 })}`.split('\n')
    const shown =
      details.length > mostLines ? [...details.slice(0, mostLines), '… see .tap/tests.tap for the rest'] : details
    failures.push([`  not ok ${fullname}`, ...shown].join('\n    '))
  })
}

function describeTime(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1).padStart(6)} s`
}
