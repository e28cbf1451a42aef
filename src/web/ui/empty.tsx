import type { ComponentChildren } from 'preact'
import { Icon, type IconShapes } from './icon.tsx'

/** What stands where nothing is yet: what belongs here, and what to do. */
export function Empty({ icon, title, children }: { icon: IconShapes; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon of={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}
