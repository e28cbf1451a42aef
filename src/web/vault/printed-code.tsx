import { createPortal } from 'preact/compat'

/** A recovery code for the printer: beside the page and never on the screen, and on paper without the page. */
export function PrintedCode({ code, person }: { code: string; person: string }) {
  return createPortal(
    <article class="printed" aria-hidden="true">
      <h1>Recovery code</h1>
      <p class="printed-code">{code.replace(/.{12}/g, '$&\n')}</p>
      <p>
        It opens the encrypted bookmarks of this account if the passphrase is forgotten: open the address below, sign
        in, choose “recovery code”, and type it. Capitals and dashes do not matter.
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
export function recoveryText(code: string, person: string): string {
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
