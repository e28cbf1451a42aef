import { mock } from 'node:test'
import type { Test } from 'tap'

/** Runs the intervals that are started from now on only when the test lets seconds pass. Other timers run. */
export function holdIntervals(t: Pick<Test, 'teardown'>): (seconds: number) => void {
  const { clearInterval } = globalThis
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { clearInterval: clearHeld } = globalThis
  // An interval that began before would keep running, and the process with it.
  globalThis.clearInterval = (timer) => {
    clearHeld(timer)
    clearInterval(timer)
  }
  return (seconds) => mock.timers.tick(seconds * 1000)
}

/** Stops the clock that the service uses to measure speed. Returns a function that lets seconds pass. */
export function holdClock(t: Pick<Test, 'teardown'>): (seconds: number) => void {
  const { now } = performance
  let ms = Math.ceil(performance.now())
  performance.now = () => ms
  t.teardown(() => Object.assign(performance, { now }))
  return (seconds) => {
    ms += seconds * 1000
  }
}

/** `holdIntervals` and `holdClock`. */
export function holdTime(t: Pick<Test, 'teardown'>): (seconds: number) => void {
  const [tick, goOn] = [holdIntervals(t), holdClock(t)]
  return (seconds) => {
    goOn(seconds)
    tick(seconds)
  }
}
