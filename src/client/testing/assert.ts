/** Compares two values of JSON, in which fields may be in any order. Needs no test runner. */
export function assertEqual(found: unknown, wanted: unknown): void {
  const [one, other] = [canonical(found), canonical(wanted)]
  if (one !== other) throw new Error(`Found ${one}\nbut wanted ${other}`)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}
