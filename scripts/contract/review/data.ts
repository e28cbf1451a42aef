import type { Contract } from '../openapi.ts'
import type { Impact } from './impact.ts'

export interface DataChange {
  impact: Impact
  place: string
  message: string
}

type Judge = (was: unknown, is: unknown, name: string) => Impact

/** True if existing clients are made for the new value; undefined if there is none. Redocly only compares scalars. */
const judges: Record<string, Judge> = {
  'x-limits': (was, is) => (Number(is) < Number(was) ? 'major' : 'minor'),
  'x-cookie': (was, is, name) => (name === 'maxAge' && Number(is) > Number(was) ? 'minor' : 'major'),
  'x-close-codes': () => 'major',
  'x-login-failures': () => 'major',
  'x-strict-fields': (was) => (was === undefined ? 'major' : 'minor'),
  'x-max-message-bytes': (was, is) => (Number(is) < Number(was) ? 'major' : 'minor'),
  'x-silence-seconds': (was, is) => (Number(is) < Number(was) ? 'major' : 'minor'),
  'x-ping-seconds': (was, is) => (Number(is) > Number(was) ? 'major' : 'minor'),
}

/** Limits, cookies and close codes, which both documents contain as data. */
export function compareData(base: Contract, revision: Contract): DataChange[] {
  const [before, after] = [dataIn(base), dataIn(revision)]
  return [...before.keys()].flatMap((place) => {
    const [was, is] = [before.get(place) ?? {}, after.get(place) ?? {}]
    const key = place.split(' › ').at(-1) ?? ''
    return Object.keys({ ...was, ...is }).flatMap((name) => {
      if (was[name] === is[name]) return []
      const isHarmless = was[name] === undefined && key !== 'x-strict-fields'
      const impact = isHarmless ? 'minor' : (judges[key]?.(was[name], is[name], name) ?? 'minor')
      return [{ impact, place, message: sentence(name, was[name], is[name]) }]
    })
  })
}

function sentence(name: string, was: unknown, is: unknown): string {
  if (was === undefined) return `\`${name}\` is new: \`${is}\`.`
  if (is === undefined) return `\`${name}\` is gone; it was \`${was}\`.`
  return `\`${name}\` changed from \`${was}\` to \`${is}\`.`
}

/** The values by name, for each place with data. */
function dataIn(node: unknown, at: string[] = []): Map<string, Record<string, unknown>> {
  if (typeof node !== 'object' || node === null) return new Map()
  const all = Object.entries(node).flatMap(([name, value]) =>
    name in judges ? [[[...at, name].join(' › '), valuesOf(name, value)] as const] : [...dataIn(value, [...at, name])],
  )
  return new Map(all)
}

/** Clients know the numbers of close codes, and nothing of their names. */
function valuesOf(name: string, value: unknown): Record<string, unknown> {
  if (name === 'x-close-codes') {
    const codes = Object.values(value as Record<string, { code: number }>).map(({ code }) => code)
    return Object.fromEntries(codes.map((code) => [`close code ${code}`, code]))
  }
  if (Array.isArray(value)) return Object.fromEntries(value.map((one) => [one, true]))
  return typeof value === 'object' ? (value as Record<string, unknown>) : { [name]: value }
}
