import { mock } from 'node:test'
import type { Test } from 'tap'

/** Intervals started from now on run only when the test lets seconds pass. Other timers run as usual. */
export function holdIntervals(t: Pick<Test, 'teardown'>): (seconds: number) => void {
  const { clearInterval } = globalThis
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { clearInterval: clearHeld } = globalThis
  // Earlier intervals must still be cleared for real, or they would keep the process running.
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

/** `holdIntervals` and `holdClock` together. */
export function holdTime(t: Pick<Test, 'teardown'>): (seconds: number) => void {
  const [tick, goOn] = [holdIntervals(t), holdClock(t)]
  return (seconds) => {
    goOn(seconds)
    tick(seconds)
  }
}
