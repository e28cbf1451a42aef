import type { Contenders } from './contenders.ts'
import type { Bench } from './open.ts'

/** What `npm run bench` measures under one name. */
export interface Row {
  /** Its figures, by name. */
  lines: Record<string, Line>
  needsPostgres?: true
  /** Prepares what all rounds need. What has to be closed afterwards goes on the stack. */
  open(bench: Bench, opened: AsyncDisposableStack): Promise<Contenders>
}

export interface Line {
  work: string
  /** What `limit` does: the same work without the service. */
  limit: string
  unit: string
  target?: Target
}

/** Bounds of the figure divided by the limit's, or of the figure itself. */
export type Target = { atLeast: number } | { atMost: number } | { figureAtMost: number }
