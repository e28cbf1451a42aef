import type { FastifyInstance } from 'fastify'
import { createFairQueue } from '../load/turns.ts'
import { networkOf } from './limits.ts'
import { isMonitoring } from './probes.ts'

/** How many requests begin in one turn of the event loop: a burst then delays others by so many, not by all of its own. */
const mostInTurn = 16

/** Of the requests that arrive together, a few begin in each turn. Each network has its turn before any has two. */
export function registerArrivals(app: FastifyInstance): void {
  const waiting = createFairQueue<() => void>()
  let begun = 0

  function begin(next: () => void): void {
    if (begun === 0) setImmediate(turn)
    begun++
    next()
  }

  function turn(): void {
    begun = 0
    while (begun < mostInTurn) {
      const next = waiting.take()
      if (!next) return
      begin(next.item)
    }
  }

  app.addHook('onRequest', (request, _reply, next) => {
    if (begun < mostInTurn || isMonitoring(request)) begin(next)
    else waiting.add(networkOf(request.ip), next)
  })
}
