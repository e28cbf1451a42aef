import type { Figures } from './contenders.ts'
import type { Bench } from './open.ts'
import type { Line, Row, Target } from './row.ts'
import { percentile } from './worker/percentile.ts'

export interface Result extends Omit<Line, 'target'> {
  row: string
  line: string
  /** The rounds of each contender. */
  rounds: Record<string, number[]>
  medians: Record<string, number>
  /** The medians of the rounds' figures, each divided by the limit's. */
  ratios: Record<string, number>
  target: string | null
  met: boolean | null
}

/** Plays all contenders of a row in turn, `rounds` times, after one time that does not count. */
export async function playRow(name: string, row: Row, bench: Bench, rounds: number): Promise<Result[]> {
  await using opened = new AsyncDisposableStack()
  const { service, limit, ...others } = await row.open(bench, opened)
  const contenders = { service, ...(limit && { limit }), ...others }
  const played: Record<string, Figures[]> = {}
  for (let round = bench.isQuick ? 1 : 0; round <= rounds; round++) {
    for (const [contender, measure] of Object.entries(contenders)) {
      const figures = await measure()
      if (round > 0) played[contender] = [...(played[contender] ?? []), figures]
    }
  }
  return Object.entries(row.lines).map(([line, about]) => resultOf(name, line, about, played))
}

function resultOf(row: string, line: string, about: Line, played: Record<string, Figures[]>): Result {
  const { target, ...rest } = about
  const rounds: Record<string, number[]> = {}
  for (const [contender, figures] of Object.entries(played)) {
    const own = figures.flatMap((figure) => figure[line] ?? [])
    if (own.length > 0) rounds[contender] = own
  }
  const medians = Object.fromEntries(Object.entries(rounds).map(([contender, own]) => [contender, median(own)]))
  const ratios: Record<string, number> = {}
  const { limit, ...compared } = rounds
  for (const [contender, own] of limit ? Object.entries(compared) : [])
    ratios[contender] = median(own.map((figure, round) => figure / (limit?.[round] as number)))
  const met = isMet(target, ratios.service, medians.service)
  return { row, line, ...rest, rounds, medians, ratios, target: textOf(target), met }
}

function median(figures: number[]): number {
  return percentile(figures, 50)
}

function isMet(target: Target | undefined, ratio: number | undefined, figure: number | undefined): boolean | null {
  if (!target || figure === undefined) return null
  if ('figureAtMost' in target) return figure <= target.figureAtMost
  if (ratio === undefined) return null
  return 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost
}

function textOf(target: Target | undefined): string | null {
  if (!target) return null
  if ('figureAtMost' in target) return `at most ${target.figureAtMost}`
  return 'atLeast' in target ? `≥ ${target.atLeast.toFixed(2)} of the limit` : `≤ ${target.atMost} × the limit`
}
