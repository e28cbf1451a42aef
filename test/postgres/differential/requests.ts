import fc from 'fast-check'
import type { Call, Step } from './steps.ts'
import { devices, ids, mix, oddPayload } from './values.ts'

type Request = Pick<Call, 'method' | 'path'> & Partial<Call>

/** Mostly one person, whose devices meet. */
export const by = mix<Call['by']>([5, fc.constant('ada')], [1, fc.constant('bob')])
export const login = mix<Call['login']>([2, fc.constant(0)], [1, fc.constant(1)])
const cookie = mix<Call['cookie']>(
  [20, fc.constant('session')],
  [1, fc.constantFrom('both', 'older', 'twice', 'stranger', 'refresh', 'none')],
)
const device = fc.option(devices, { nil: undefined })

/** An id as a part of a path. */
export const id = mix(
  [20, ids.map(encodeURIComponent)],
  [1, fc.constantFrom('%', '%00', 'x'.repeat(129), '%C3%A9', '')],
)

/** A request by anybody, from any device. */
export function calls(request: fc.Arbitrary<Request>): fc.Arbitrary<Step> {
  return fc.record({ by, login, cookie, device, request }).map(({ device, request, ...who }) => ({
    do: 'call' as const,
    ...who,
    ...request,
    headers: { ...(device !== undefined && { 'x-device-id': device }), ...request.headers },
  }))
}

export function get(path: fc.Arbitrary<string> | string): fc.Arbitrary<Step> {
  return calls(arbitrary(path).map((path) => ({ method: 'GET', path })))
}

export function send(method: string, path: fc.Arbitrary<string> | string, body?: fc.Arbitrary<unknown>) {
  const requests = fc.record({ method: fc.constant(method), path: arbitrary(path) })
  if (!body) return calls(requests)
  const withBody = fc.tuple(requests, body).map(([request, body]) => ({ ...request, body }))
  const withPayload = fc.tuple(requests, oddPayload).map(([request, payload]) => ({ ...request, payload }))
  return calls(mix<Request>([15, withBody], [1, withPayload]))
}

function arbitrary(path: fc.Arbitrary<string> | string): fc.Arbitrary<string> {
  return typeof path === 'string' ? fc.constant(path) : path
}

/** Any of the parameters, or none. */
export function query(parameters: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<string> {
  return fc.record(parameters, { requiredKeys: [] }).map((values) => {
    const pairs = Object.entries(values).map(([name, value]) => `${name}=${value}`)
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`
  })
}
