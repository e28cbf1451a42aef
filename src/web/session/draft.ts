/**
 * The entries of a form that the page had to close, kept in this tab for the person's next sign-in. They are encrypted under
 * the person's keys, so nobody else can read them.
 */
import { openRecord, SALT_BYTES, sealJson } from '../../client/crypto/record.ts'
import { deriveKeys, type Keys, loadMasterKey } from '../../client/index.ts'
import { tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'

/** Also the id of the sealed record. */
const name = 'draft'
const placeOf = (userId: string) => `${name}-${userId}`

let ownerId: string | undefined

/** @param userId whose forms the page shows from now on, in a browser that keeps their keys */
export function keepDraftsOf(userId: string): void {
  ownerId = userId
}

/** If another tab has signed out, the browser has no key any more, and nothing is kept, as after any sign-out. */
export async function keepDraft(draft: object): Promise<void> {
  const userId = ownerId
  const masterKey = userId === undefined ? undefined : await loadMasterKey(userId)
  if (userId === undefined || !masterKey) return
  sessionStorage.setItem(placeOf(userId), JSON.stringify(sealJson(deriveKeys(masterKey), name, JSON.stringify(draft))))
  tell(say.library.draftKept)
}

export function dropDraft(userId: string): void {
  sessionStorage.removeItem(placeOf(userId))
}

/** Returns it once; undefined if there is none, or it cannot be read. */
export function takeDraft(userId: string, keys: Keys): unknown {
  const sealed = sessionStorage.getItem(placeOf(userId))
  dropDraft(userId)
  if (sealed === null) return undefined
  try {
    const plaintext = openRecord(keys, { id: name, ...JSON.parse(sealed) }, 'bookmark')
    return JSON.parse(new TextDecoder().decode(plaintext.subarray(SALT_BYTES)))
  } catch {
    return undefined
  }
}
