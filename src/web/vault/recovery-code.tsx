import { createPortal } from 'preact/compat'
import { useRef } from 'preact/hooks'
import { type RecoveryCodeDraft, SignedOutError } from '../../client/index.ts'
import { Button, CopyButton } from '../ui/button.tsx'
import { saveFile } from '../ui/files.tsx'
import { hasLeft, useLeaving } from '../ui/leaving.ts'
import { dismissText, tell } from '../ui/tell.ts'
import { locale } from '../words/language.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'

interface RecoveryCodeProps<Stored> {
  draft: RecoveryCodeDraft<Stored>
  /** The person's name; empty if the provider did not send one. */
  person: string
  /** Called when the service has stored the keyring that the code opens. The code itself is not sent. */
  confirmed: (stored: Stored) => unknown
  /** Handles an error of the draft's `confirm`, or throws it. */
  failed?: (error: unknown) => void
  /** Called if the person keeps the previous code. */
  cancel?: () => void
}

/** Shows a new recovery code. It takes effect when the person confirms that they have saved it. */
export function RecoveryCode<Stored>({ draft, person, confirmed, failed = raise, cancel }: RecoveryCodeProps<Stored>) {
  const { recoveryCode } = draft
  /** If the code is valid already. `maybe`: no success was reported, but the service may have stored its keyring. */
  const counts = useRef<'no' | 'maybe' | 'yes'>('no')
  const tellOutcome = () => {
    dismissText(later.vault.codeMayCount)
    const texts = { no: later.vault.codeCountsNot, maybe: later.vault.codeMayCount, yes: later.vault.codeCounts }
    tell(texts[counts.current])
  }
  useLeaving(tellOutcome)
  const confirm = async () => {
    const before = counts.current
    counts.current = 'maybe'
    let stored: Stored
    try {
      stored = await draft.confirm()
    } catch (error) {
      if (error instanceof SignedOutError) counts.current = before
      if (hasLeft()) tellOutcome()
      return failed(error)
    }
    counts.current = 'yes'
    if (hasLeft()) tellOutcome()
    await confirmed(stored)
  }
  const file = () => new Blob([recoveryText(recoveryCode, person)], { type: 'text/plain' })
  return (
    <>
      <p>{later.vault.codeMore}</p>
      <output class="code" id="recovery-code">
        {recoveryCode}
      </output>
      <div class="bar">
        <CopyButton text={recoveryCode} />
        <Button onClick={() => print()}>{later.vault.print}</Button>
        <Button onClick={() => saveFile(file(), later.vault.codeFile)}>{later.vault.saveFile}</Button>
      </div>
      <div class="bar">
        <Button look="primary" onClick={confirm}>
          {later.vault.isSaved}
        </Button>
        {cancel && <Button onClick={cancel}>{say.ui.cancel}</Button>}
      </div>
      <PrintedCode code={recoveryCode} person={person} />
    </>
  )
}

function raise(error: unknown): never {
  throw error
}

/** A recovery code for printing only, never visible on the screen. */
function PrintedCode({ code, person }: { code: string; person: string }) {
  return createPortal(
    <article class="printed" aria-hidden="true">
      <h1>{later.vault.recoveryCode}</h1>
      <p class="printed-code">{code.replace(/.{12}/g, '$&\n')}</p>
      <p>{later.vault.printedHow}</p>
      <dl>
        {factsOf(person).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p>{later.vault.printedKeep}</p>
    </article>,
    document.body,
  )
}

function recoveryText(code: string, person: string): string {
  const facts = factsOf(person).map(([name, value]) => `${name}: ${value}\n`)
  return `${later.vault.recoveryCodeOf}\n\n${code}\n\n${facts.join('')}\n${later.vault.fileKeep}\n`
}

function factsOf(person: string): [name: string, value: string][] {
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'long' }).format(Date.now())
  return [
    ...(person === '' ? [] : [[later.vault.account, person] as [string, string]]),
    [later.vault.service, location.origin],
    [later.vault.madeOn, date],
  ]
}
