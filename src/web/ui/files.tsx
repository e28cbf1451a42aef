import { useContext, useRef } from 'preact/hooks'
import { Button } from './button.tsx'
import { ShowFailure } from './failure.ts'

interface FileButtonProps {
  label: string
  /** File name extensions. Default: any file. */
  accept?: string
  disabled?: boolean
  chosen: (file: File) => Promise<unknown>
}

/** A button that lets the person choose a file. */
export function FileButton({ label, accept, disabled, chosen }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  const showFailure = useContext(ShowFailure)
  const change = async (input: HTMLInputElement) => {
    const [file] = input.files ?? []
    input.value = ''
    if (file) await chosen(file).catch(showFailure)
  }
  return (
    <>
      <Button disabled={disabled} onClick={() => input.current?.click()}>
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        accept={accept}
        disabled={disabled}
        aria-label={label}
        hidden
        onChange={(event) => change(event.currentTarget)}
      />
    </>
  )
}

/** Saves content as a file on the person's device. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
