import type { ComponentChildren } from 'preact'
import { createPortal } from 'preact/compat'
import { useState } from 'preact/hooks'
import type { RecoveryCodeDraft } from '../../client/index.ts'
import { Button } from '../ui/button.tsx'
import { saveFile } from '../ui/files.tsx'

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
        <Button onClick={() => saveFile(file(), 'recovery-code.txt')}>Save as a file</Button>
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

/** A recovery code for the printer: beside the page and never on the screen, and on paper without the page. */
function PrintedCode({ code, person }: { code: string; person: string }) {
  return createPortal(
    <article class="printed" aria-hidden="true">
      <h1>Recovery code</h1>
      <p class="printed-code">{code.replace(/.{12}/g, '$&\n')}</p>
      <p>
        It opens the encrypted bookmarks of this account if the passphrase is forgotten: open the address below, sign
        in, and type it in place of the passphrase. Capitals and dashes do not matter.
      </p>
      <dl>
        {factsOf(person).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p>
        Whoever has this sheet and the account can read the bookmarks. Keep it where you keep passports, away from your
        devices. A newer recovery code takes the place of this one: destroy it then.
      </p>
    </article>,
    document.body,
  )
}

/** The same on a sheet and in a file. */
function recoveryText(code: string, person: string): string {
  const facts = factsOf(person).map(([name, value]) => `${name}: ${value}\n`)
  return `Recovery code of Encrypted Bookmark Sync\n\n${code}\n\n${facts.join('')}\nWhoever has it and the account can read the bookmarks.\n`
}

function factsOf(person: string): [name: string, value: string][] {
  const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' }).format(Date.now())
  return [
    ...(person === '' ? [] : [['Account', person] as [string, string]]),
    ['Service', location.origin],
    ['Made on', date],
  ]
}
