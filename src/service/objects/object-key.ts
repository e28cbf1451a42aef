/** Each attempt at an export writes its own object. */
interface Attempt {
  id: string
  fence: number
}

export function objectKeyOf({ id, fence }: Attempt): string {
  return `${id}.${fence}`
}

export function attemptOf(objectKey: string): Attempt {
  const [id = '', fence] = objectKey.split('.')
  return { id, fence: Number(fence) }
}

/** What a store of one kind of object calls them: it may also hold objects of others. */
export interface KeyForm {
  prefix: string
  matches(name: string): boolean
}

export const exportObjects: KeyForm = { prefix: '', matches: isObjectKey }

/** Whether the name is a key made by `objectKeyOf`. */
export function isObjectKey(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.(0|[1-9]\d{0,8})$/.test(name)
}

/** Only the server makes keys; this check keeps a mistake there from reaching outside the store. */
export function assertObjectKey(key: string, { matches } = exportObjects): void {
  if (!matches(key)) throw new TypeError(`${JSON.stringify(key)} is not an object key`)
}
