import { Front } from '../sign-in/front.tsx'
import { Button } from '../ui/button.tsx'

export function StartFailure({ why, again }: { why: string; again: () => void }) {
  return (
    <Front>
      <h1>This did not work</h1>
      <p role="alert">{why}</p>
      <Button look="primary" onClick={again}>
        Try again
      </Button>
    </Front>
  )
}
