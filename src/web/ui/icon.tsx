import { h } from 'preact'

/** A drawing of lucide: its shapes. */
export type IconShapes = readonly (readonly [tag: string, attributes: Record<string, string>])[]

/** Decoration: what it stands for is said in words beside it, or in the label of its button. */
export function Icon({ of }: { of: IconShapes }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  )
}
