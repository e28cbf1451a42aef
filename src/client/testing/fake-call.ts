import type { FakeAccount, FakeSession } from './fake-account.ts'

/** A request that has come to the fake service. */
export interface Call {
  account: FakeAccount
  session: FakeSession
  url: URL
  /** The one in the path, decoded. */
  id: string
  /** The `X-Device-ID`, if any. */
  device: string | undefined
  /** The same, or `unknown`. */
  by: string
  now: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies are not validated, except where an app could easily be wrong
  body: any
}

export interface FakeAnswer {
  status: number
  body: unknown
}

export type Answer = (call: Call) => FakeAnswer

/** The status and the text. */
type FakeError = readonly [number, string]

export function ok(body: unknown): FakeAnswer {
  return { status: 200, body }
}

export const done = ok({ success: true })

export function failed([status, error]: FakeError): FakeAnswer {
  return { status, body: { error } }
}

export function okIfFound(body: object | undefined, notFound: FakeError): FakeAnswer {
  return body ? ok(body) : failed(notFound)
}

export function doneIf(isDone: boolean, notFound: FakeError): FakeAnswer {
  return isDone ? done : failed(notFound)
}
