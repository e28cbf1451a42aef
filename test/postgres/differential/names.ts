/** An id of the service's (UUIDv7, so later ones are greater), or an export key. */
const made = /([\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12})|(?<![\w+/])[\w+/]{43}=/g

/** Names what the service makes at random in order of first appearance: ids `(0)`, `(1)` …, keys `(key 0)` … */
export function createNames() {
  const ids: string[] = []
  const keys: string[] = []
  const place = (values: string[], value: string) => {
    const known = values.indexOf(value)
    return known < 0 ? values.push(value) - 1 : known
  }
  return {
    hide: (text: string) =>
      text.replaceAll(made, (value, id) => (id ? `(${place(ids, value)})` : `(key ${place(keys, value)})`)),
    /** Replaces names with their ids. A name that no id has yet stays as it is. */
    reveal: (text: string) => text.replaceAll(/\((\d+)\)/g, (name, index) => ids[index] ?? name),
  }
}
