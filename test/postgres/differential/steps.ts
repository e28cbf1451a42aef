import type fc from 'fast-check'

/** When each script begins. */
export const start = Date.UTC(2026, 10, 21, 8)

export const people = ['ada', 'bob'] as const
export type Person = (typeof people)[number]

/**
 * A request. `(0)`, `(1)` … stand for what the service made at random (names.ts): ada's id and bob's come first. In a
 * body `"(cursor)"` is the last `last_sync_timestamp` that the person got.
 */
export interface Call {
  do: 'call' | 'pull all'
  by: Person
  /** Each person is signed in twice. */
  login: 0 | 1
  cookie: 'session' | 'refresh' | 'both' | 'older' | 'twice' | 'stranger' | 'none'
  method: string
  path: string
  headers?: Record<string, string>
  body?: unknown
  /** In place of a body. */
  payload?: string
}

export type Step =
  | Call
  | { do: 'sign in'; by: Person; login: 0 | 1 }
  | { do: 'set clock'; ms: number }
  | { do: 'finish exports' }
  | { do: 'sweep' }

/** A step, or a few that belong together, with their weights. */
export type Choices = [number, fc.Arbitrary<Step | Step[]>][]

/** As one line, for people. */
export function describeStep(step: Step): string {
  if (step.do === 'sign in') return `${step.by} signs in (login ${step.login})`
  if (step.do === 'set clock') return `the clock shows ${start + step.ms} (${step.ms} ms after the start)`
  if (step.do !== 'call' && step.do !== 'pull all') return step.do
  const { by, login, cookie, method, path, headers = {}, body, payload = JSON.stringify(body) ?? '' } = step
  const credentials = cookie === 'session' ? '' : `, cookie: ${cookie}`
  const all = step.do === 'pull all' ? ' (to the end)' : ''
  return `${by} (login ${login}${credentials}): ${method} ${path} ${JSON.stringify(headers)} ${payload}${all}`
}
