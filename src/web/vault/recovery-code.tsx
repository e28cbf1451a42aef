import type { ComponentChildren } from 'preact'
import type { RecoveryCodeDraft } from '../../client/index.ts'
import { Button } from '../ui/button.tsx'

interface RecoveryCodeProps {
  draft: RecoveryCodeDraft<unknown>
  confirm: () => unknown
  children?: ComponentChildren
}

/** Shows a recovery code that counts only when the person has confirmed it. */
export function RecoveryCode({ draft, confirm, children }: RecoveryCodeProps) {
  return (
    <>
      <p>It opens your bookmarks if you forget the passphrase. It is shown only once.</p>
      <output class="code" id="recovery-code">
        {draft.recoveryCode}
      </output>
      <div class="bar">
        <Button look="primary" onClick={confirm}>
          I have it on paper
        </Button>
        {children}
      </div>
    </>
  )
}
