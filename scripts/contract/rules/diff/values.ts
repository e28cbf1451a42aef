import { type DiffRule, nameOf } from './change.ts'

/** Who leaves a field out gets something else than before. */
export const defaultChanged: DiffRule = () => ({
  Schema({ property, node, base, revision }, { report, getDirections }) {
    if (property !== 'default' || base?.value === undefined || !getDirections().includes('request')) return
    report({ message: `The default of \`${nameOf(node)}\` was \`${base.value}\`, now \`${revision?.value}\`.` })
  },
})

export const bodyLimitLowered: DiffRule = () => ({
  Operation({ property, base, revision }, { report }) {
    if (property !== 'x-body-limit') return
    const [before, after] = [base, revision].map((side) => Number(side?.value ?? commonBodyLimit))
    if (Number(after) < Number(before)) report({ message: `A body may have ${after} bytes, before it was ${before}.` })
  },
})

const commonBodyLimit = 1024 * 1024
