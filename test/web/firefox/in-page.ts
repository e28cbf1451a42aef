/** How an element is found: by its text, or, with a role, by its name; a label stands for its field. */
export interface Query {
  by: 'label' | 'role' | 'text' | 'css'
  value: string
  name?: string | undefined
  exact?: boolean | undefined
}

export type Action = 'look' | 'focus' | 'click' | 'check' | 'uncheck' | { fill: string }

/** Runs in the page: whether the element is there and seen, and so the action done. */
export function inPage({ query, action }: { query: Query; action: Action }): boolean {
  const { by, value, name, exact } = query
  const plain = (text: string | null) => (text ?? '').replace(/\s+/g, ' ').trim()
  const isNamed = (text: string | null, wanted: string | undefined) =>
    wanted === undefined || (exact ? plain(text) === wanted : plain(text).toLowerCase().includes(wanted.toLowerCase()))
  const ways = {
    label: () =>
      [...document.querySelectorAll('label')]
        .filter((label) => isNamed(label.textContent, value))
        .map((one) => one.control),
    role: () =>
      [...document.querySelectorAll(value === 'checkbox' ? 'input[type=checkbox]' : value)].filter((one) =>
        isNamed(one.textContent, name),
      ),
    text: () =>
      [...document.body.querySelectorAll('*')].filter(
        (one) => one.children.length === 0 && isNamed(one.textContent, value),
      ),
    css: () => [...document.querySelectorAll(value)],
  }
  const isSeen = (one: Element | null) => one?.checkVisibility({ visibilityProperty: true })
  const element = ways[by]().find(isSeen) as HTMLInputElement | undefined
  if (!element) return false
  if (typeof action === 'object') {
    element.focus()
    element.value = action.fill
    for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }))
  } else if (action === 'focus') element.focus()
  else if (action === 'click') element.click()
  else if (action !== 'look' && element.checked !== (action === 'check')) element.click()
  return true
}
