import underPressure from '@fastify/under-pressure'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createRefusal } from '../load/budget.ts'
import { networkOf } from '../load/rates.ts'
import { createFairQueue } from '../load/turns.ts'
import { isMonitoring } from './admin.ts'

/** How many requests begin in one turn of the event loop: a burst then delays others by so many, not by all of its own. */
const mostInTurn = 16
/** A push or import of 32 MiB holds the loop in steps, which hardly matter when averaged over the sample. */
const sampleMs = 2000
const maxMeanDelayMs = 250
/** This many at a time are never refused: if the loop lags without a queue, refusing would not help. */
const alwaysServed = 32

/**
 * Decides which requests may begin now. Of those that arrive together, a few begin in each turn of the event loop. While it
 * lags, all but a few at a time are refused before any work is done for them.
 */
export async function registerAdmission(app: FastifyInstance, log: FastifyBaseLogger): Promise<void> {
  spreadArrivals(app)
  const isBusy = watchRequests(app)
  const refuse = createRefusal(log, 'the event loop lags: refusing some requests')
  await app.register(underPressure, {
    maxEventLoopDelay: maxMeanDelayMs,
    sampleInterval: sampleMs,
    pressureHandler: async (request) => {
      if (isBusy() && !isMonitoring(request)) throw refuse()
    },
  })
}

/** Each network has its turn before any has two. */
function spreadArrivals(app: FastifyInstance): void {
  const waiting = createFairQueue<() => void>()
  let isWaiting = false
  let begun = 0

  function begin(next: () => void): void {
    if (begun === 0) setImmediate(turn)
    begun++
    next()
  }

  function turn(): void {
    begun = 0
    while (isWaiting && begun < mostInTurn) {
      const next = waiting.take()
      if (next) begin(next.item)
      else isWaiting = false
    }
  }

  app.addHook('onRequest', (request, _reply, next) => {
    if (begun < mostInTurn || isMonitoring(request)) return begin(next)
    isWaiting = true
    waiting.add(networkOf(request.ip), next)
  })
}

/** Requests count until the loop has turned: of those that arrive together, each may end before the next one begins. */
function watchRequests(app: FastifyInstance): () => boolean {
  let underWay = 0
  let over = 0
  function forgetOver(): void {
    underWay -= over
    over = 0
  }
  app.server.prependListener('request', (_request, response) => {
    underWay++
    response.on('close', () => {
      if (++over === 1) setImmediate(forgetOver)
    })
  })
  return () => underWay > alwaysServed
}
