import { createContext } from 'preact'
import { useContext, useEffect } from 'preact/hooks'

/** What was entered in one field cannot be used. The form shows it there, with the focus. */
export class FieldFault extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** What is wrong with what was entered, or undefined. */
export type Check = (value: string) => Promise<string | undefined>

interface FieldFaults {
  /** By the names of the fields. */
  faults: Readonly<Record<string, string>>
  /** The field is being corrected. */
  forget(field: string): void
  /** Run before the form is sent. */
  checks: Map<string, Check>
}

/** Of the form around a field. */
export const FieldFaultsContext = createContext<FieldFaults>({ faults: {}, forget() {}, checks: new Map() })

/** Lets the form look at a field before it is sent. */
export function useCheck(field: string, check: Check): void {
  const { checks } = useContext(FieldFaultsContext)
  useEffect(() => {
    checks.set(field, check)
    return () => void checks.delete(field)
  })
}
