import { type Answer, platform, type Question } from './platform.ts'
import { type TextName, text } from './text.ts'

// Replaces the names of texts in the page, which have the manifest's notation (`__MSG_name__`).
const texts = document.createTreeWalker(document, NodeFilter.SHOW_TEXT)
for (let node = texts.nextNode(); node; node = texts.nextNode()) node.nodeValue = translated(node.nodeValue)
for (const labelled of document.querySelectorAll('[aria-label]')) labelled.ariaLabel = translated(labelled.ariaLabel)
document.documentElement.lang = text('language')
document.documentElement.classList.remove('wordless')

/** Texts for the client package's errors, by fault or name. Other errors show their own messages. */
const errors: Record<string, TextName> = {
  OfflineError: 'errorOffline',
  SignedOutError: 'signedOutHeadline',
  StorageFullError: 'fullHeadline',
  UnsentChangesError: 'errorUnsent',
  BackupFailedError: 'errorBackup',
  VaultExistsError: 'errorVaultExists',
  'weak-passphrase': 'errorWeak',
  'wrong-passphrase': 'errorPassphrase',
  'wrong-recovery-code': 'errorCode',
  'mistyped-recovery-code': 'errorMistyped',
  'keys-replaced': 'keysHeadline',
  'unknown-version': 'newerHeadline',
  KeyringError: 'errorKeyring',
  RecordError: 'errorUnreadable',
  ExportError: 'errorDamaged',
}

/** Asks the worker. @throws Error what the worker threw, with its name and text */
export async function ask(question: Question): Promise<Answer> {
  const answer = await platform.runtime.sendMessage(question)
  if (answer.error) throw Object.assign(new Error(answer.error.message), { name: answer.error.name })
  return answer
}

export function element<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const found = document.getElementById(id)
  if (!found) throw new Error(`The page has no ${id}`)
  return found as Kind
}

/** Creates an element with these properties and contents. */
export function made<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...content)
  return made
}

/** The contents of a `dl` with these names and values. */
export function pairs(values: Record<string, string>): HTMLElement[] {
  return Object.entries(values).flatMap(([name, value]) => [made('dt', {}, name), made('dd', {}, value)])
}

/** Runs the work at each click or submission, and shows what it throws. */
export function act(id: string, event: 'click' | 'submit', work: () => Promise<unknown>): void {
  element(id).addEventListener(event, (happened) => {
    happened.preventDefault()
    void attempt(work)
  })
}

/** Runs the work, and shows what it throws. */
export async function attempt(work: () => Promise<unknown>): Promise<void> {
  element('fault').textContent = ''
  try {
    await work()
  } catch (error) {
    element('fault').textContent = wordsOf(error instanceof Error ? error : new Error(String(error)))
  }
}

function wordsOf(error: Error & { fault?: string }): string {
  const name = errors[error.fault ?? ''] ?? errors[error.name]
  return name ? text(name) : error.message
}

function translated(content: string | null): string {
  return (content ?? '').replaceAll(/__MSG_(\w+)__/g, (_, name: TextName) => text(name))
}
