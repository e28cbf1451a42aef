import type { EntityType } from '../../bookmark.ts'

/** Names a record to the app. */
export interface RecordName {
  id: string
  /** Undefined for a bookmark. */
  entityType?: Exclude<EntityType, 'bookmark'> | undefined
}

/** All types, in the order in which their changes are emitted. */
export const entityTypes = ['bookmark', 'group', 'history'] as const satisfies readonly EntityType[]

/** Ids do not contain this character. */
const separator = '\t'

/** The key of a record's row. A bookmark's is its id, as it was before there were other types. */
export function rowKey(id: string, type: EntityType = 'bookmark'): string {
  return type === 'bookmark' ? id : `${type}${separator}${id}`
}

/** The key of the record that a change or an event concerns. */
export function keyOfChange({ entity_id, entity_type }: { entity_id: string; entity_type: EntityType }): string {
  return rowKey(entity_id, entity_type)
}

export function typeOf(key: string): EntityType {
  const at = key.indexOf(separator)
  return at === -1 ? 'bookmark' : (key.slice(0, at) as EntityType)
}

export function idOf(key: string): string {
  return key.slice(key.indexOf(separator) + 1)
}

export function nameOf(key: string): RecordName {
  const type = typeOf(key)
  return { id: idOf(key), ...(type !== 'bookmark' && { entityType: type }) }
}

export function keysOfType(keys: Iterable<string>, type: EntityType): string[] {
  return [...keys].filter((key) => typeOf(key) === type)
}
