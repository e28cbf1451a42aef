import { styleText } from 'node:util'

/** Reports the progress of a step in any unit. The total is not always known. */
export type Report = (step: string, done: number, total?: number) => void

/** A terminal, or another destination of lines. */
export interface Output {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

/** Redraws this often (ms), so that the clock next to the bar advances. */
const drawEveryMs = 1000
/** Prints a line this often (ms) if the output is not a terminal. */
const lineEveryMs = 30_000
const barLength = 24

/** Shows the work's progress until it has ended. */
export async function withProgress<Result>(work: (progress: ProgressBar) => Promise<Result>): Promise<Result> {
  using progress = new ProgressBar()
  return await work(progress)
}

/** Shows long work's progress on stderr: a bar on a terminal, elsewhere a line now and then. */
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

  /** Prints result lines above the bar. */
  print(lines: string): void {
    this.#clear()
    console.log(lines)
    if (this.#output.isTTY) this.#show()
  }

  /** Removes the bar. */
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
