import { useId } from 'preact/hooks'
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

export function NewPassphraseField() {
  return (
    <Field
      label="New passphrase"
      name="passphrase"
      type="password"
      required
      minLength={8}
      autocomplete="new-password"
      hint="At least eight characters; several words are best."
    />
  )
}
