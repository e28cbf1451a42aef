import type { PairingPictures } from '../../client/pair.ts'
import { Icon } from '../ui/icons.tsx'
import { later } from '../words/later.ts'
import { type Picture, pictures } from './shapes.ts'

/** Three pictures to compare. If both devices show the same ones in this order, almost certainly nobody is between them. */
export function Pictures({ of }: { of: PairingPictures }) {
  const names = Object.keys(pictures) as Picture[]
  return (
    <ol class="pairing-pictures" aria-label={later.pairing.threePictures}>
      {of.map((number, place) => {
        const name = names[number]
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: A picture may come twice.
          <li key={place}>
            <Icon of={name ? pictures[name] : []} />
            {name && later.pairing.picture(name)}
          </li>
        )
      })}
    </ol>
  )
}
