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

/** Whether the name is a key made by `objectKeyOf`: the store may also hold objects of others. */
export function isObjectKey(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.\d+$/.test(name)
}

/** Only the server makes keys; this check keeps a mistake there from reaching outside the store. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new TypeError(`${JSON.stringify(key)} is not an object key`)
}
