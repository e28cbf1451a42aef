/** The values of one field of each element. */
export function pick<Field extends string, Item extends { [F in Field]?: unknown }>(
  items: Iterable<Item>,
  field: Field,
): Item[Field][] {
  return Array.from(items, (item) => item[field])
}
