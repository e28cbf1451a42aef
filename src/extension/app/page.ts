import { type Answer, platform, type Question } from './platform.ts'

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
    element('fault').textContent = error instanceof Error ? error.message : String(error)
  }
}
