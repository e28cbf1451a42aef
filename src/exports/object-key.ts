/** One try at making an export. A later one has a higher fence, and an object of its own. */
export interface Attempt {
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

/** Whether it is a key of objectKeyOf's: other people's objects in the store are none of ours. */
export function isObjectKey(name: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.\d+$/.test(name)
}

/** Keys are made by the server alone; this keeps a mistake there inside the store. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new TypeError(`${JSON.stringify(key)} is no object key`)
}
