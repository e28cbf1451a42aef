/** The name `stored_bytes` as this package writes it: `storedBytes`. */
export type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** An object of the contract with the names of its fields as this package writes them. */
export type CamelCased<T> = { [Name in keyof T as CamelCase<Name & string>]: T[Name] }

export function camelCased<T extends object>(object: T): CamelCased<T> {
  const fields = Object.entries(object).map(([name, value]) => [
    name.replace(/_(.)/g, (_, first: string) => first.toUpperCase()),
    value,
  ])
  return Object.fromEntries(fields)
}
