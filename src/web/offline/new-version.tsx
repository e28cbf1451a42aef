import { Button } from '../ui/button.tsx'
import { useOutdated } from './register.ts'

const texts = {
  page: 'This page has a newer version. Some parts may not open until it is reloaded.',
  store:
    'Another tab has opened a newer version of this page. Here nothing can be saved any more until it is reloaded.',
}

export function NewVersion() {
  const outdated = useOutdated()
  if (!outdated) return null
  return (
    <section class={outdated === 'store' ? 'notice' : 'notice calm'} id="outdated" aria-label="New version">
      <p role="status">{texts[outdated]}</p>
      <Button onClick={() => location.reload()}>Reload the page</Button>
    </section>
  )
}
