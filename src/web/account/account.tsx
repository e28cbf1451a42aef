import { useEffect, useState } from 'preact/hooks'
import { DeleteAccount } from './delete-account.tsx'
import { Devices } from './devices.tsx'
import { LostDevice } from './lost-device.tsx'
import { Sessions } from './sessions.tsx'
import { Storage } from './storage.tsx'

/** Where the person is signed in, what they store, and the end of it all. */
export function AccountView({ rest }: { rest: string }) {
  // What one part does shows in the others: each is asked for again.
  const [turn, setTurn] = useState(0)
  const changed = () => setTurn((turn) => turn + 1)
  useEffect(() => {
    if (rest !== '') document.getElementById(`account-${rest}`)?.scrollIntoView()
  }, [rest])
  return (
    <div class="page account">
      <h1>Devices and account</h1>
      <Sessions turn={turn} changed={changed} />
      <Devices turn={turn} changed={changed} />
      <LostDevice changed={changed} />
      <Storage turn={turn} />
      <DeleteAccount isAsked={rest === 'delete'} />
    </div>
  )
}
