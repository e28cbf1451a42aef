import type { Sync } from '../client/index.ts'
import { button, element } from './dom.ts'

/** Edits that the service refused. They are on this device alone, until they are sent or dropped. */
export function refusedList(sync: Sync): HTMLElement {
  const section = element('section', { className: 'card', hidden: true, id: 'refused' })
  let shown: number | undefined
  const show = () => {
    const { quarantined } = sync.status()
    if (quarantined === shown) return
    shown = quarantined
    section.hidden = quarantined === undefined
    const items = sync.quarantined().map(({ id, bookmark, message }) =>
      element(
        'li',
        { 'data-id': id },
        element('p', {}, `“${bookmark?.title ?? id}” could not be sent: ${message}.`),
        button('Drop', () => sync.dropQuarantined(id)),
      ),
    )
    section.replaceChildren(
      element('h2', {}, 'Not sent'),
      element('ul', {}, ...items),
      button('Try again', () => sync.retryQuarantined()),
    )
  }
  sync.on('status', show)
  show()
  return section
}
