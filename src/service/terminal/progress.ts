import { styleText } from 'node:util'

/** Tells how far the part `step` of some work is, in whatever it counts. The total is not always known. */
export type Report = (step: string, done: number, total?: number) => void

/** A terminal, or whatever the lines go to. */
export interface Output {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

/** So that the clock beside the bar goes on while the work waits. */
const drawEveryMs = 1000
/** If there is no terminal, somebody reads the lines later, and needs few. */
const lineEveryMs = 30_000
const barLength = 24

/** Shows how far the work is, until it is done. */
export async function withProgress<Result>(work: (progress: ProgressBar) => Promise<Result>): Promise<Result> {
  using progress = new ProgressBar()
  return await work(progress)
}

/**
 * Shows how far long work is: a bar on a terminal, and elsewhere a line now and then, none for short work. It is on stderr,
 * because stdout is for what the work makes.
 */
export class ProgressBar implements Disposable {
  readonly #output: Output
  readonly #start = Date.now()
  readonly #timer: NodeJS.Timeout
  #step = ''
  #done = 0
  #total: number | undefined
  #drawn = ''

  constructor(output: Output = process.stderr) {
    this.#output = output
    this.#timer = setInterval(() => this.#show(), output.isTTY ? drawEveryMs : lineEveryMs).unref()
  }

  readonly report: Report = (step, done, total) => {
    this.#step = step
    this.#done = done
    this.#total = total
    if (this.#output.isTTY) this.#show()
  }

  /** Prints lines of what the work makes, above the bar. */
  print(lines: string): void {
    this.#clear()
    console.log(lines)
    if (this.#output.isTTY) this.#show()
  }

  /** Takes the bar away. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#clear()
    this.#step = ''
  }

  #show(): void {
    if (this.#step === '') return
    if (this.#output.isTTY) this.#draw()
    else this.#output.write(`${this.#step}${this.#count()} (${this.#clock()})\n`)
  }

  #draw(): void {
    const share = this.#total ? this.#done / this.#total : 0
    const full = Math.round(share * barLength)
    const bar = paint('green', '█'.repeat(full)) + paint('dim', '░'.repeat(barLength - full))
    const room = (this.#output.columns || 80) - barLength - 1
    const drawn = `${bar}${` ${this.#clock()}  ${this.#step}${this.#count()}`.slice(0, room)}`
    if (drawn === this.#drawn) return
    this.#output.write(`\r\x1b[K${drawn}`)
    this.#drawn = drawn
  }

  #count(): string {
    if (this.#total === undefined) return `: ${this.#done}`
    return this.#total > 1 ? `: ${this.#done} of ${this.#total}` : ''
  }

  #clock(): string {
    const seconds = Math.floor((Date.now() - this.#start) / 1000)
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  }

  #clear(): void {
    if (this.#drawn !== '') this.#output.write('\r\x1b[K')
    this.#drawn = ''
  }
}

function paint(colour: 'green' | 'dim', text: string): string {
  return styleText(colour, text, { stream: process.stderr })
}
