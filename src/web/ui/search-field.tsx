import { useId } from 'preact/hooks'

interface SearchFieldProps {
  label: string
  query: string
  onSearch: (query: string) => void
}

/** A field that filters the list below it while the person types. */
export function SearchField({ label, query, onSearch }: SearchFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        dir="auto"
        autocomplete="off"
        value={query}
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
    </div>
  )
}
