import { useEffect, useState } from 'preact/hooks'
import { Button } from '../ui/button.tsx'
import { confirmFirst } from '../ui/dialogs.tsx'
import { say } from '../words/words.ts'
import { eraseStored, storedUsers } from './session.ts'

/** Reports bookmarks that this browser stores for people who are not signed in, and offers to delete them. */
export function StoredBookmarks({ signedIn }: { signedIn?: string }) {
  const [users, setUsers] = useState<readonly string[]>([])
  const look = async () => setUsers((await storedUsers()).filter((userId) => userId !== signedIn))
  useEffect(() => {
    // Rejects if the browser does not let the page store anything.
    const attempt = () => void look().catch(() => {})
    attempt()
    // Another tab may have deleted them.
    addEventListener('focus', attempt)
    return () => removeEventListener('focus', attempt)
  }, [signedIn])
  if (users.length === 0) return null
  const erase = async () => {
    for (const userId of users) await eraseStored(userId)
    await look()
  }
  const question = {
    title: say.signIn.eraseStoredTitle,
    text: say.signIn.eraseStoredMore,
    action: say.signIn.eraseStored,
  }
  return (
    <section class="notice calm" id="stored" aria-label={say.signIn.storedLabel}>
      <p role="status">{signedIn === undefined ? say.signIn.stillStored : say.signIn.othersStored}</p>
      <Button onClick={() => confirmFirst({ ...question, run: erase })}>{say.signIn.eraseStored}</Button>
    </section>
  )
}
