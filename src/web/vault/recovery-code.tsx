import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { RecoveryCodeDraft } from '../../client/index.ts'
import { Button } from '../ui/button.tsx'
import { save } from '../ui/files.tsx'
import { PrintedCode, recoveryText } from './printed-code.tsx'

interface RecoveryCodeProps {
  draft: RecoveryCodeDraft<unknown>
  /** The person's name; empty if the provider told none. */
  person: string
  confirm: () => unknown
  children?: ComponentChildren
}

/** Shows a recovery code that counts only when the person has confirmed it. */
export function RecoveryCode({ draft, person, confirm, children }: RecoveryCodeProps) {
  const { recoveryCode } = draft
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(recoveryCode)
    setCopied(true)
  }
  const file = () => new Blob([recoveryText(recoveryCode, person)], { type: 'text/plain' })
  return (
    <>
      <p>
        It opens your bookmarks if you forget the passphrase. It is shown only once, and whoever has it can read them:
        keep it on paper, away from this device.
      </p>
      <output class="code" id="recovery-code">
        {recoveryCode}
      </output>
      <div class="bar">
        <Button onClick={copy}>{isCopied ? 'Copied' : 'Copy'}</Button>
        <Button onClick={() => print()}>Print</Button>
        <Button onClick={() => save(file(), 'recovery-code.txt')}>Save as a file</Button>
      </div>
      <div class="bar">
        <Button look="primary" onClick={confirm}>
          I have it on paper
        </Button>
        {children}
      </div>
      <PrintedCode code={recoveryCode} person={person} />
    </>
  )
}
