import type { Sync } from '../../client/index.ts'
import { showDialog } from '../ui/dialogs.tsx'
import { lazily } from '../ui/lazily.tsx'

const Seen = lazily(() => import('./seen.tsx').then(({ Seen }) => Seen))

export function showSeen(sync: Sync): void {
  showDialog((close) => <Seen sync={sync} close={close} />)
}
