import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { pause } from '../thread/loop.ts'

/** Parsing as much as this takes a few milliseconds. */
const smallLength = 1024 * 1024
const suspects = /__proto__"|constructor"/

/**
 * Parses JSON, and refuses members that would reach an object's prototype if somebody copied them. With a large text
 * the event loop turns between the steps; most are small, and need no promise.
 */
export function parseJson(text: string): unknown {
  const isLarge = text.length > smallLength
  return isLarge || isSuspect(text) ? parseInSteps(text, isLarge) : parse(text)
}

function parse(text: string): unknown {
  return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
}

async function parseInSteps(text: string, isLarge: boolean): Promise<unknown> {
  if (isLarge) await eventLoopTurn()
  const value = parse(text)
  if (isLarge) await eventLoopTurn()
  if (isSuspect(text)) await assertHarmless(value)
  if (isLarge) await eventLoopTurn()
  return value
}

/** If not, no member has a name that matters, however it is escaped. */
function isSuspect(text: string): boolean {
  return suspects.test(text) || text.includes('\\u00')
}

async function assertHarmless(root: unknown): Promise<void> {
  const waiting: object[] = []
  const add = (value: unknown) => {
    if (typeof value === 'object' && value !== null) waiting.push(value)
  }
  add(root)
  for (let value = waiting.pop(); value; value = waiting.pop()) {
    await pause()
    if (Array.isArray(value)) value.forEach(add)
    else {
      if (
        Object.hasOwn(value, '__proto__') ||
        hasPrototype(Object.getOwnPropertyDescriptor(value, 'constructor')?.value)
      )
        throw new SyntaxError('a member would reach a prototype')
      Object.values(value).forEach(add)
    }
  }
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
