import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'
import { openContract } from './conformance.ts'
import { type Exchange, type Opened, recordTraffic, type Traffic } from './traffic.ts'

/** A response that was found to match the contract. */
export interface Answered {
  status: number
  headers: Exchange['headers']
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that the contract was just checked for
  body: any
  raw: Buffer
}

const checkTraffic = openContract({ openapi, asyncapi })

/**
 * Checks a response against openapi.yaml: that its status, headers and body are documented, and that the status fits the
 * body that was `sent` (JSON text). Paths outside the contract are not checked.
 */
export function checkAnswer(
  method: string,
  url: string,
  status: number,
  headers: Answered['headers'],
  raw: Buffer,
  sent?: unknown,
): Answered {
  const isJson = String(headers['content-type'] ?? '').startsWith('application/json')
  const body = isJson && raw.length > 0 ? JSON.parse(raw.toString()) : undefined
  const operationId = findOperation(method, url)
  if (operationId) {
    const read = isDecodable(url) ? parsed(sent) : undefined
    check({ kind: 'exchange', operationId, status, headers, body, length: raw.length, sent: read })
  }
  return { status, headers, body, raw }
}

/** Checks what the server sent over the realtime channel against asyncapi.yaml. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the fields that the contract was just checked for
export function checkMessage(text: string): any {
  const message = JSON.parse(text)
  check({ kind: 'message', message })
  return message
}

/** Checks what the server accepted from a client over the realtime channel against asyncapi.yaml. */
export function checkTaken(message: { type: string }): void {
  check({ kind: 'taken', message })
}

/** Checks what a client decrypted against openapi.yaml. */
export function checkOpened<T extends object>(schema: Opened['schema'], value: T): T {
  check({ kind: 'opened', schema, value })
  return value
}

const templates = Object.entries(operations).map(([operationId, { method, path }]) => ({
  operationId,
  method,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

function findOperation(method: string, url: string): string | undefined {
  const path = url.split('?', 1)[0] ?? ''
  return templates.find((one) => one.method === method.toUpperCase() && one.pattern.test(path))?.operationId
}

function check(traffic: Traffic): void {
  checkTraffic(traffic)
  recordTraffic(traffic)
}

/** A URL that cannot be decoded is refused before the body is read. */
function isDecodable(url: string): boolean {
  try {
    decodeURI(url)
    return true
  } catch {
    return false
  }
}

/** Undefined for bodies refused before schemas are checked: not JSON, nested too deeply, or setting a prototype. */
function parsed(sent: unknown): unknown {
  if (typeof sent !== 'string') return undefined
  try {
    return JSON.parse(sent, (name, value) => {
      if (name === '__proto__' || (name === 'constructor' && 'prototype' in Object(value))) throw new SyntaxError()
      return value
    })
  } catch {
    return undefined
  }
}
