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
