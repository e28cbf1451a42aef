/**
 * The key under which a running import's size is kept, and its lock. Imports and restores are stored all at once, after
 * encryption: if the page is closed before that, nothing was stored, and the next start reports it.
 */
const placeOf = (userId: string) => `import-${userId}`

/** @param total the number of bookmarks to import */
export async function noteImport<T>(userId: string, total: number, run: () => Promise<T>): Promise<T> {
  return navigator.locks.request(placeOf(userId), async () => {
    localStorage.setItem(placeOf(userId), `${total}`)
    addEventListener('beforeunload', askToStay)
    try {
      return await run()
    } finally {
      removeEventListener('beforeunload', askToStay)
      forgetImport(userId)
    }
  })
}

function askToStay(event: Event): void {
  event.preventDefault()
}

/** The number of bookmarks of an import that was interrupted; 0 if none was. */
export async function findInterrupted(userId: string): Promise<number> {
  const options = { ifAvailable: true }
  // A lock that is not free means that the import still runs in another tab.
  return navigator.locks.request(placeOf(userId), options, (lock) =>
    lock ? Number(localStorage.getItem(placeOf(userId))) : 0,
  )
}

export function forgetImport(userId: string): void {
  localStorage.removeItem(placeOf(userId))
}
