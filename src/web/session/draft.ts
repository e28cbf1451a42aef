/**
 * A form's entries, kept in this tab when the page had to close the form or was reloaded. They are encrypted under the
 * person's keys, so nobody else can read them, and a sign-out deletes them.
 */
import { openRecord, SALT_BYTES, sealJson } from '../../client/crypto/record.ts'
import { type Keys, loadMasterKey } from '../../client/index.ts'
import { hasLeft } from '../ui/leaving.ts'
import { tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'

/** The id of the encrypted record. The storage key begins with it, too. */
const name = 'draft'
const placeOf = (userId: string) => `${name}-${userId}`

let owner: { userId: string; keys: Keys } | undefined

/** Starts keeping forms of this person, in a browser that keeps their keys. */
export function keepDraftsOf(userId: string, keys: Keys): void {
  owner = { userId, keys }
}

/** Keeps a form. After a sign-out in another tab, the browser has no key and nothing is kept. */
export async function keepDraft(draft: object): Promise<void> {
  if (!owner || !(await loadMasterKey(owner.userId))) return
  store(owner, draft)
  tell(say.library.draftKept)
}

/** Keeps the form. Call it when the page is hidden, because it may then be closed. Without a draft, deletes the kept one. */
export function autosaveDraft(draft: object | undefined): void {
  if (!owner || hasLeft()) return
  if (draft) store(owner, draft)
  else dropDraft(owner.userId)
}

function store({ userId, keys }: { userId: string; keys: Keys }, draft: object): void {
  sessionStorage.setItem(placeOf(userId), JSON.stringify(sealJson(keys, name, JSON.stringify(draft))))
}

export function dropDraft(userId: string): void {
  sessionStorage.removeItem(placeOf(userId))
}

/** Returns the kept form and deletes it. Undefined if there is none, or it cannot be decrypted. */
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
