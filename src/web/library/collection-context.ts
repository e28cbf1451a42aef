import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

/** What the rows of a list have in common. */
export interface CollectionLook {
  layout: 'list' | 'cards'
  /** The words of a search, which stand out. */
  words: readonly string[]
  /** Whether each row tells its folder. */
  showsPath: boolean
  toggle(id: string, isRange?: boolean): void
  /** Deletes, and gives the focus to what is beside. */
  remove(ids: readonly string[]): Promise<void>
}

export const CollectionContext = createContext<CollectionLook | undefined>(undefined)

export function useLook(): CollectionLook {
  const look = useContext(CollectionContext)
  if (!look) throw new Error('A row is shown only in a collection')
  return look
}
