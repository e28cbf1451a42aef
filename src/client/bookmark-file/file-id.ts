import { uuidv7 } from '../ids.ts'

const prefix = 'file-'

/** A new id for what is read from a file. An import replaces it by one that is the same on other devices. */
export function fileId(): string {
  return prefix + uuidv7()
}

export function isFileId(id: string): boolean {
  return id.startsWith(prefix)
}
