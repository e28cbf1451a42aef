import { useId, useState } from 'preact/hooks'
import { Field } from '../ui/field.tsx'

/** A form's fields for a passphrase or a recovery code. */
export function CredentialFields() {
  const id = useId()
  return (
    <>
      <div class="field">
        <label for={id}>I have the</label>
        <select id={id} name="kind">
          <option value="passphrase">passphrase</option>
          <option value="recovery">recovery code</option>
        </select>
      </div>
      <Field
        label="Passphrase or code"
        name="secret"
        type="password"
        required
        autocomplete="current-password"
        autofocus
      />
    </>
  )
}

/** What the person has entered in `CredentialFields`. */
export function readCredentials(userId: string, { kind, secret = '' }: Record<string, string>) {
  return kind === 'recovery' ? { userId, recoveryCode: secret } : { userId, passphrase: secret }
}

/** A new passphrase, typed twice, because nobody can reset it. */
export function NewPassphraseField({ autofocus = false }) {
  const [isShown, setShown] = useState(false)
  const [differs, setDiffers] = useState(false)
  const id = useId()
  const type = isShown ? 'text' : 'password'
  const compare = (form: HTMLFormElement | null) => {
    const [first, second] = ['passphrase', 'repeated'].map((name) => form?.elements.namedItem(name) as HTMLInputElement)
    if (!first || !second) return
    const isSame = first.value === second.value
    setDiffers(!isSame && second.value.length >= first.value.length)
    // The browser sends no form with it.
    second.setCustomValidity(isSame ? '' : 'The two passphrases differ')
  }
  return (
    <>
      <Field
        label="New passphrase"
        name="passphrase"
        type={type}
        required
        minLength={8}
        autocomplete="new-password"
        autofocus={autofocus}
        hint="At least eight characters; several words are best."
        onInput={({ currentTarget }) => compare(currentTarget.form)}
      />
      <Field
        label="The same once more"
        name="repeated"
        type={type}
        required
        autocomplete="new-password"
        error={differs ? 'The two passphrases differ' : undefined}
        onInput={({ currentTarget }) => compare(currentTarget.form)}
      />
      <label class="bar" for={id}>
        <input id={id} type="checkbox" checked={isShown} onChange={() => setShown(!isShown)} />
        Show the passphrase
      </label>
    </>
  )
}
