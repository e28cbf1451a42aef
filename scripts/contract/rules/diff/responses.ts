import { type DiffRule, nameOf } from './change.ts'

/** Clients know the successes that an operation had; an additional error is one more of a kind that they must handle. */
export const successAdded: DiffRule = () => ({
  Responses: {
    Response({ kind, node }, { report }) {
      if (kind === 'added' && /^[23]/.test(nameOf(node)))
        report({ message: `The operation may now answer ${nameOf(node)}.` })
    },
  },
})

export const headerUnpromised: DiffRule = () => ({
  Header({ property, node, base, revision }, { report, getDirections }) {
    if (property === 'required' && base?.value === true && revision?.value !== true)
      if (getDirections().includes('response')) report({ message: `\`${nameOf(node)}\` may be missing.` })
  },
})
