import type { ComponentChildren } from 'preact'
import { ChevronIcon, Icon } from '../ui/icons.tsx'
import { useRemembered } from '../ui/remembered.ts'

interface SectionProps {
  /** Also the class name. */
  name: 'app' | 'folders' | 'tags'
  title: string
  children: ComponentChildren
}

/** A part of the sidebar that can be closed. The browser remembers which parts are open. */
export function Section({ name, title, children }: SectionProps) {
  const [state, setState] = useRemembered(`sidebar-${name}`, ['open', 'closed'])
  const isOpen = state === 'open'
  return (
    <section class={name} aria-label={title}>
      <h2>
        <button type="button" aria-expanded={isOpen} onClick={() => setState(isOpen ? 'closed' : 'open')}>
          <Icon of={ChevronIcon} />
          {title}
        </button>
      </h2>
      {isOpen && children}
    </section>
  )
}
