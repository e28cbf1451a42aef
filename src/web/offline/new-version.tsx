import { Button } from '../ui/button.tsx'
import { useIsOutdated } from './register.ts'

export function NewVersion() {
  if (!useIsOutdated()) return null
  return (
    <section class="notice calm" aria-label="New version">
      <p role="status">This page has a newer version. Some parts may not open until it is reloaded.</p>
      <Button onClick={() => location.reload()}>Reload the page</Button>
    </section>
  )
}
