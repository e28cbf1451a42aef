import { type Concatenation, DFA, type Element, isDisjointWith, JS, NFA, type NoParent } from 'refa'

/** Less or more is allowed than before. `other`: some values are allowed that were not, and others no longer are. */
export type Width = 'narrower' | 'wider' | 'other'

/** The most states of an automaton. If a pattern needs more, the comparison is given up. */
const mostStates = 2000

/** Compares the sets of matching texts; `other` if neither contains the other, or if it cannot be decided. */
export function widthOfPattern(was: unknown, is: unknown): Width {
  if (was === undefined) return 'narrower'
  if (is === undefined) return 'wider'
  try {
    const [old, now] = [automatonOf(String(was)), automatonOf(String(is))]
    if (isWithin(old, now)) return 'wider'
    return isWithin(now, old) ? 'narrower' : 'other'
  } catch {
    return 'other'
  }
}

/** An automaton for all matching texts; without anchors, a pattern matches anywhere (JSON Schema, 6.3.3). */
function automatonOf(pattern: string): NFA {
  const { expression, maxCharacter } = parsed(pattern)
  const alternatives = expression.alternatives.map(({ elements }): NoParent<Concatenation> => {
    const [isStart, isEnd] = [isAnchor(elements[0], 'behind'), isAnchor(elements.at(-1), 'ahead')]
    const inner = elements.slice(isStart ? 1 : 0, isEnd ? -1 : undefined)
    return { type: 'Concatenation', elements: [...(isStart ? [] : anything()), ...inner, ...(isEnd ? [] : anything())] }
  })
  return NFA.fromRegex(
    { type: 'Expression', alternatives },
    { maxCharacter },
    { assertions: 'throw' },
    new NFA.LimitedNodeFactory(mostStates),
  )
}

function parsed(source: string) {
  return JS.Parser.fromLiteral({ source, flags: 'u' }).parse({ backreferences: 'throw' })
}

function anything(): Element[] {
  return parsed('[^]*').expression.alternatives.flatMap(({ elements }) => elements)
}

/** The parser represents an anchor as: no character before, or after. */
function isAnchor(element: NoParent<Element> | undefined, kind: 'ahead' | 'behind'): boolean {
  if (element?.type !== 'Assertion' || element.kind !== kind || !element.negate) return false
  const [only, ...others] = element.alternatives
  const character = only?.elements[0]
  return (
    others.length === 0 &&
    only?.elements.length === 1 &&
    character?.type === 'CharacterClass' &&
    character.characters.isAll
  )
}

function isWithin(one: NFA, other: NFA): boolean {
  const rest = DFA.fromFA(other, new DFA.LimitedNodeFactory(mostStates))
  rest.complement(new DFA.LimitedNodeFactory(mostStates))
  return isDisjointWith(one, rest)
}
