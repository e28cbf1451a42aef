import { AsyncLocalStorage, type AsyncResource, executionAsyncResource } from 'node:async_hooks'

/**
 * Replaces `async-hook-domain`, with which tap finds the test of an uncaught error. That package tracks every promise,
 * which takes up to a third of a test's CPU time. AsyncLocalStorage is native.
 */
const current = new AsyncLocalStorage<Domain>()
const alive = new Set<Domain>()

type OnError = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => void

export class Domain {
  readonly onerror: OnError

  /** `onerror` gets the uncaught errors of all that the current async resource runs from now on. */
  constructor(onerror: OnError) {
    this.onerror = onerror
    alive.add(this)
    const resource = executionAsyncResource() as AsyncResource
    const { runInAsyncScope } = resource
    resource.runInAsyncScope = (work, thisArg, ...args) =>
      runInAsyncScope.call(resource, () => current.run(this, () => Reflect.apply(work, thisArg, args))) as never
  }

  destroy(): void {
    alive.delete(this)
  }
}

process.on('uncaughtException', (error, origin) => {
  // A test that expects the error has added its own listener.
  if (process.listenerCount('uncaughtException') > 1) return
  const its = current.getStore()
  const domain = its && alive.has(its) ? its : [...alive].at(-1)
  domain?.onerror(error, origin)
})
