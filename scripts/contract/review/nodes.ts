/** An object in a parsed contract. */
export type Json = Record<string, unknown>

/** The place of a statement in a contract. */
export interface Spot {
  /** The names from the operation, type or part of the document down to the statement's own name. */
  steps: string[]
  /** The kind of object that the statement is a field of. */
  of: string
  /** A JSON pointer in the bundled contract. */
  at: string
  /** The place as people read it, from its component on. */
  place: string[]
  /** JSON pointers of other parts of `allOf` that state the same. */
  also?: string[]
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsIn(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

/** Escapes a step of a JSON pointer (RFC 6901, section 3). */
export function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function stepsOf(pointer: string): string[] {
  return pointer
    .slice(2)
    .split('/')
    .map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Elements by name. The position is added to a name that occurs again, so that no element hides another. */
export function byUniqueName<Element>(
  all: Element[],
  nameOf: (one: Element, index: number) => string,
): Map<string, Element> {
  const found = new Map<string, Element>()
  all.forEach((one, index) => {
    const name = nameOf(one, index)
    found.set(found.has(name) ? `${name} (${index + 1})` : name, one)
  })
  return found
}
