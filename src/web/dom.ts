type Child = Node | string | undefined | false

/** An element with its properties (`class` as `className`, `data-…` and `aria-…` as attributes), listeners and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue
    if (name.includes('-') || name === 'role' || name === 'for') made.setAttribute(name, String(value))
    else Object.assign(made, { [name]: value })
  }
  made.append(...children.filter((child) => child !== undefined && child !== false))
  return made
}

/** A button that is disabled while its action runs. A failure is shown. */
export function button(label: string, action: () => unknown, properties: Record<string, unknown> = {}) {
  const made = element('button', { type: 'button', ...properties }, label)
  made.addEventListener('click', () => void whileBusy(made, action))
  return made
}

/** A form whose fields are read by name when it is submitted. */
export function form(
  action: (fields: Record<string, string>) => unknown,
  properties: Record<string, unknown>,
  ...children: Child[]
): HTMLFormElement {
  const made = element('form', properties, ...children)
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const submit = made.querySelector<HTMLButtonElement>('button[type=submit]')
    const fields = Object.fromEntries([...new FormData(made)].map(([name, value]) => [name, String(value)]))
    void whileBusy(submit, () => action(fields))
  })
  return made
}

export function field(label: string, properties: Record<string, unknown>): HTMLLabelElement {
  return element('label', {}, element('span', {}, label), element('input', properties))
}

async function whileBusy(control: HTMLButtonElement | null, action: () => unknown): Promise<void> {
  if (control) control.disabled = true
  try {
    await action()
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error), 'alert')
  } finally {
    if (control) control.disabled = false
  }
}

/** Shows a dialog above the page until it is closed. */
export function showDialog(dialog: HTMLDialogElement): void {
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** Shows a message in the open dialog, else at the bottom of the page, and announces it to screen readers. */
export function tell(text: string, role: 'status' | 'alert' = 'status'): void {
  const told = element('p', { role, className: `told ${role}` }, text)
  const dialog = document.querySelector('dialog[open]')
  dialog?.querySelector('.told')?.remove()
  if (dialog) dialog.append(told)
  else document.querySelector('#told')?.replaceChildren(told)
}
