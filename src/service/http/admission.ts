import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createRefusal } from '../load/refusal.ts'
import { isMonitoring } from './requests.ts'

declare module 'fastify' {
  interface FastifyInstance {
    isUnderPressure(): boolean
  }
}

const sampleMs = 2000
const resolutionMs = 10
const maxMeanDelayMs = 250
/** Up to this many simultaneous requests are served even if the loop lags: refusing so few would not help. */
const alwaysServed = 32

/** While the event loop lags, refuses requests beyond `alwaysServed` early, except those of monitoring. */
export function registerAdmission(app: FastifyInstance, log: FastifyBaseLogger): void {
  const isBusy = watchRequests(app)
  const refuse = createRefusal(log, 'the event loop lags: refusing some requests')
  const lags = watchLoop(app)
  app.decorate('isUnderPressure', lags)
  app.addHook('onRequest', (request, _reply, next) => {
    next(lags() && isBusy() && !isMonitoring(request) ? refuse() : undefined)
  })
}

function watchLoop(app: FastifyInstance): () => boolean {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  let meanMs = 0
  const timer = setInterval(() => {
    // The monitor's figure includes its timer's resolution.
    meanMs = delays.mean / 1e6 - resolutionMs
    delays.reset()
  }, sampleMs).unref()
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delays.disable()
  })
  return () => meanMs > maxMeanDelayMs
}

/** Counts a request until the event loop's next turn: simultaneous small ones may each end before the next begins. */
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
