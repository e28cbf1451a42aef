import type { Test } from 'tap'

/** A counter with its total, and the maximum within one turn of the event loop. */
export interface PerTurn {
  all: number
  most: number
  add(amount: number): void
}

export function countPerTurn(t: Pick<Test, 'teardown'>): PerTurn {
  let sinceTurn = 0
  let turn = setImmediate(function next() {
    sinceTurn = 0
    turn = setImmediate(next)
  })
  t.teardown(() => clearImmediate(turn))
  return {
    all: 0,
    most: 0,
    add(amount) {
      this.all += amount
      sinceTurn += amount
      this.most = Math.max(this.most, sinceTurn)
    },
  }
}
