/** Compares arrays and plain objects by content, everything else with `Object.is`. */
export function isEqual(one: unknown, other: unknown): boolean {
  // Iterative, because recursion would overflow on deeply nested values.
  const pending: [unknown, unknown][] = []
  const demand = (a: unknown, b: unknown) => Object.is(a, b) || pending.push([a, b])
  demand(one, other)
  for (const [a, b] of pending) {
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false
      for (let index = 0; index < a.length; index++) demand(a[index], b[index])
    } else {
      if (!isPlain(a) || !isPlain(b)) return false
      const names = Object.keys(a)
      if (names.length !== Object.keys(b).length || !names.every((name) => Object.hasOwn(b, name))) return false
      for (const name of names) demand(a[name], b[name])
    }
  }
  return true
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
