import { uuidv7 } from '../ids.ts'

const prefix = 'file-'

/** A temporary id for an item of a file. The import replaces it with an id that is the same on all devices. */
export function fileId(): string {
  return prefix + uuidv7()
}

export function isFileId(id: string): boolean {
  return id.startsWith(prefix)
}
