/** The cards of the popup, which loads this file after it has shown the sync's state. */
import { accountCards, allOf, card, clearedCards, copiesCards } from './cards.ts'
import { describeDeletes, describeRefused, describeUnsent, shortened } from './describe.ts'
import { ask, made, pairs } from './page.ts'
import type { Answer, Question, WorkerState } from './platform.ts'
import { text } from './text.ts'

export { showCards } from './cards.ts'

type Show = (answer: Answer) => Promise<void>

/** Returns cards for what waits for an answer, was refused or could not be sent, and for bookmarks in the browser's account. */
export async function cardsOf(state: WorkerState, answer: Answer, show: Show): Promise<HTMLElement[]> {
  const { held = { browser: [], devices: [] }, copies = [] } = answer
  const { sync, conflicts, refused } = state
  const choose = (question: Question) => async () => show(await ask(question))
  const deletes = (['browser', 'devices'] as const)
    .filter((side) => held[side].length > 0)
    .map((side) => {
      const ids = held[side].map(({ id }) => id)
      const titles = held[side].map(({ title }) => title)
      return card([made('p', {}, describeDeletes(titles, side)), ...allOf(titles.map(shortened))], ids, {
        [text('deleteEverywhere')]: choose({ ask: 'decide', side, deletes: true, ids }),
        [text('putThemBack')]: choose({ ask: 'decide', side, deletes: false, ids }),
      })
    })
  const lost = conflicts.map((conflict) =>
    card([made('p', {}, text('changedTwice')), lostAndKept(conflict.mine, conflict.theirs)], conflict, {
      [text('takeMine')]: choose({ ask: 'resolve', conflict, choice: 'mine' }),
      [text('keepTheirs')]: choose({ ask: 'resolve', conflict, choice: 'theirs' }),
    }),
  )
  const unsent = sync?.quarantined
    ? [
        card([made('p', {}, describeUnsent(sync.quarantined, sync.reason))], null, {
          [text('tryAgain')]: choose({ ask: 'retry' }),
        }),
      ]
    : []
  const untaken = refused.map((one) => card([made('p', {}, describeRefused(one))], null, {}))
  const own = [...deletes, ...lost, ...unsent, ...untaken]
  return [...copiesCards(copies, show), ...clearedCards(answer, show), ...own, ...(await accountCards(state))]
}

function lostAndKept(mine: string, theirs: string): HTMLElement {
  const sides = {
    [text('here')]: shortened(mine) || text('deleted'),
    [text('elsewhere')]: shortened(theirs) || text('deleted'),
  }
  return made('dl', {}, ...pairs(sides))
}
