import { type Change, missing, within } from './changes.ts'
import { type Fact, keyOf } from './facts.ts'
import type { Impact, Ruling, Verdict } from './impact.ts'
import { by, commonBodyLimit, isRequired, largest, ofKeyword } from './keywords.ts'
import { listOf } from './nodes.ts'
import { component } from './schema.ts'
import { describeChange, key, named, ownerOf, quoted, renaming, sentence, shownIn } from './sentences.ts'

/** Rates a change for clients of the contract as it was. Undefined if another finding reports the change. */
export function judge(change: Change): Verdict | undefined {
  const { was, is } = change
  const fact = (is ?? was) as Fact
  if (isComparedAsText(fact, change)) return undefined
  if (isWords(fact, change)) return ofWords(change)
  const condition = conditionAround(fact.steps, change)
  // Generators make no code from these parts of a condition.
  if (condition && ['const', '(order)', component].includes(key(fact))) return undefined
  const isWhole = condition && !(was && is) && !conditionAround(fact.steps.slice(0, -1), change)
  if (isWhole)
    return {
      impact: by(was ? 'wider' : 'narrower', change.directions),
      message: `A condition changed. ${sentence(change)}`,
    }
  if (condition) return { impact: 'major', message: `A condition changed. ${sentence(change)}` }
  if (key(fact) === component) return ofComponent(was, is)
  if (was && is && keyOf(was.steps) !== keyOf(is.steps)) return ofName(was, is)
  const verdict = key(fact) === '(order)' ? ofOrder(change) : (rules[fact.of]?.(change) ?? ofUnknown(fact))
  if (verdict === 'covered') return undefined
  return typeof verdict === 'string' ? { impact: verdict, message: sentence(change) } : verdict
}

type Rule = (change: Change) => Ruling

/** The rules by the kind of object that the fact is in (`of`). docs/versioning.md describes them. */
const rules: Record<string, Rule> = {
  schema: ofKeyword,
  properties: (change) => {
    const { was, is, directions, after } = change
    if (is && directions.has('request') && isRequired(after, is.steps))
      return { impact: 'major', message: `The required field ${named(is)} is new.` }
    if (is) return isEarly(change) ? 'covered' : 'minor'
    const message = directions.has('request') ? `${named(was)} is no longer read.` : `${named(was)} is gone.`
    return { impact: 'major', message }
  },
  ...Object.fromEntries(['oneOf', 'anyOf'].map((name) => [name, ofAlternative])),
  allOf: ({ was, directions }) => by(was ? 'wider' : 'narrower', directions),
  types: ({ was, is }) => {
    if (!was) return { impact: 'minor', message: `The type ${named(is)} is new.` }
    return { impact: 'major', message: `The type ${named(was)} is gone.` }
  },
  calls: ({ was }) => (was ? 'major' : 'minor'),
  operation: ofOperation,
  parameters: (change) => {
    const { was, is, after } = change
    const name = `\`${argument((is ?? was) as Fact)}\``
    if (was) return { impact: 'major', message: `The parameter ${name} is gone.` }
    const isDemanded = is && after.get(keyOf([...is.steps, 'required']))?.value === true
    if (!isDemanded && isEarly(change)) return 'covered'
    const more =
      'methods that openapi-generator makes for Java and Rust, and oapi-codegen for Go, take one more argument'
    const message = isDemanded ? `The required parameter ${name} is new.` : `The parameter ${name} is new: ${more}.`
    return { impact: isDemanded ? 'major' : 'minor', message }
  },
  parameter: ({ was, is, directions }) => {
    const name = key((is ?? was) as Fact)
    if (name === 'required') {
      const owner = ownerOf((is ?? was) as Fact)
      const isBreaking = is ? directions.has('request') : directions.has('response')
      return {
        impact: isBreaking ? 'major' : 'minor',
        message: is ? `${owner} is now required.` : `${owner} may be missing.`,
      }
    }
    const noun = directions.has('response') ? 'header' : 'parameter'
    if (name === 'name') return { impact: 'major', message: `The ${noun} \`${was?.value}\` is now \`${is?.value}\`.` }
    return ['in', 'style', 'explode', 'allowReserved', 'schema', 'content'].includes(name) ? 'major' : undefined
  },
  body: ({ was, is }) => {
    if (key((is ?? was) as Fact) !== 'required') return undefined
    return is?.value === true ? { impact: 'major', message: 'The body is now required.' } : 'minor'
  },
  // In Go, a second media type turns the type into an interface. Clients also send a response's media types (Accept).
  content: () => 'major',
  media: ({ was, is, directions }) => (was && is ? undefined : was || directions.has('request') ? 'major' : 'minor'),
  responses: ({ was, is }) => {
    const status = key((is ?? was) as Fact)
    if (was) return { impact: 'major', message: `The response \`${status}\` is gone.` }
    if (/^[45]|default/.test(status)) return { impact: 'minor', message: `The response \`${status}\` is new.` }
    return { impact: 'major', message: `The operation may now respond with ${status}.` }
  },
  response: ({ was, is }) => {
    const name = key((is ?? was) as Fact)
    return name === 'content' || (was && name !== 'links') ? 'major' : 'minor'
  },
  headers: ({ was }) => (was ? 'major' : 'minor'),
  messages: ({ was, is }) => {
    const name = `The message \`${key((is ?? was) as Fact)}\``
    return was ? { impact: 'major', message: `${name} is gone.` } : { impact: 'minor', message: `${name} is new.` }
  },
  message: ({ was, is }) => (['name', 'contentType'].includes(key((is ?? was) as Fact)) ? 'major' : undefined),
  channel: ofData,
  socket: ({ was, is }) => (key((is ?? was) as Fact) === 'method' ? 'major' : undefined),
  credentials: ({ was }) => (was ? 'major' : 'minor'),
  scopes: ({ was, is }) => (was && is ? 'patch' : was ? 'major' : 'minor'),
  scheme: ({ was, is }) => (['type', 'in', 'name', 'scheme'].includes(key((is ?? was) as Fact)) ? 'major' : undefined),
  servers: ({ was }) => (was ? 'major' : 'minor'),
  server: (change) => {
    const name = key((change.is ?? change.was) as Fact)
    if (name === 'security') return ofSecurity(change)
    return ['host', 'protocol', 'pathname'].includes(name) ? 'major' : undefined
  },
  variable: ({ was, is }) => {
    const name = key((is ?? was) as Fact)
    if (name === 'default') return 'major'
    if (name !== 'enum') return undefined
    if (!is) return 'minor'
    return !was || missing(was.value, is.value).length > 0 ? 'major' : 'minor'
  },
  codes: ({ was }) => (was ? 'major' : 'minor'),
  code: ({ was, is }) => (key((is ?? was) as Fact) === 'code' ? 'major' : undefined),
  cookie: ({ was, is }) => {
    const isLonger = key((is ?? was) as Fact) === 'maxAge' && Number(is?.value) > Number(was?.value)
    return isLonger || !was ? 'minor' : 'major'
  },
  // A new limit refuses what was accepted, and apps may use a removed one by its name. `rowBytes` is what the quota
  // counts for each row, so a higher one is stricter.
  'x-limits': ({ was, is }) => {
    if (!was || !is) return 'major'
    return Number(is.value) > Number(was.value) === (key(is) !== 'rowBytes') ? 'minor' : 'major'
  },
  errors: ({ was, is }) => {
    const text = `The error ${key((is ?? was) as Fact)} is`
    return was
      ? { impact: 'major', message: `${text} no longer returned.` }
      : { impact: 'minor', message: `${text} new.` }
  },
  failures: ({ was }) => (was ? 'major' : 'minor'),
  recentSignIn: ({ was, is }) =>
    recentSignIns.indexOf(is?.value) > recentSignIns.indexOf(was?.value) ? 'major' : 'minor',
  info: ({ after }) => (after.has('arazzo') ? 'patch' : 'major'),
  document: ofData,
  workflows: ({ was }) => (was ? 'major' : 'minor'),
  workflow: ({ was, is }) => (was && !is && key(was) === 'outputs' ? 'major' : 'minor'),
  outputs: ({ was, is }) => (was && !is ? 'major' : 'minor'),
}

/** For a fact without a rule: minor in workflows, extensions (`x-`) and `links`, and for `deprecated`; else major. */
function ofUnknown({ steps }: Fact): Impact {
  if (['workflows', 'sourceDescriptions'].includes(steps[0] ?? '')) return 'minor'
  return steps.some((step) => step.startsWith('x-') || ['deprecated', 'links'].includes(step)) ? 'minor' : 'major'
}

const recentSignIns: unknown[] = ['never', 'sometimes', 'always']

/** Facts of a whole document or of the realtime channel, such as its limits. */
function ofData({ was, is }: Change): Impact | undefined {
  const name = key((is ?? was) as Fact)
  if (['address', 'defaultContentType'].includes(name)) return 'major'
  const [before, after] = [Number(was?.value), Number(is?.value)]
  if (['x-max-message-bytes', 'x-silence-seconds'].includes(name)) return after >= before ? 'minor' : 'major'
  return name === 'x-ping-seconds' ? (after <= before ? 'minor' : 'major') : undefined
}

function ofOperation(change: Change): Ruling {
  const { was, is, before } = change
  const fact = (is ?? was) as Fact
  const name = key(fact)
  if (name === 'x-invalid' || name === 'x-not-found') return 'covered'
  if (name === 'security') return ofSecurity(change)
  if (name === 'tags') {
    const [first, now] = [listOf(was?.value)[0], listOf(is?.value)[0]]
    // Generators make a class with the operation for each of its tags.
    if (first === now) return missing(was?.value, is?.value).length > 0 ? 'major' : 'minor'
    return { impact: 'major', message: `The first tag of ${ownerOf(fact)} ${describeChange(first, now)}.` }
  }
  if (name === 'servers') return { impact: 'major', message: `\`servers\` of ${ownerOf(fact)} changed.` }
  if (name === 'requestBody') {
    const isDemanded = is && change.after.get(keyOf([...is.steps, 'required']))?.value === true
    if (was) return { impact: 'major', message: 'The body is no longer read.' }
    return isDemanded ? { impact: 'major', message: 'The body is now required.' } : 'minor'
  }
  if (name === 'x-body-limit') {
    const [old, now] = [was, is].map((side) => Number(side?.value ?? commonBodyLimit))
    const body = [...fact.steps.slice(0, -1), 'requestBody', 'content', 'application/json', 'schema']
    const isLower = Number(now) < Math.min(Number(old), largest(before, body))
    return isLower ? { impact: 'major', message: `The limit of the body fell from ${old} to ${now} bytes.` } : 'minor'
  }
  return ['operationId', 'path', 'action', 'channel'].includes(name) ? 'major' : 'minor'
}

function ofSecurity({ was, is }: Change): Verdict {
  const [old, now] = [listOf(was?.value ?? nothing), listOf(is?.value ?? nothing)]
  const refused = old.filter((one) => !now.some((other) => satisfies(one, other)))
  if (refused.length > 0) return { impact: 'major', message: `No longer sufficient: ${refused.join('; ')}.` }
  // Generated clients stop sending credentials that the contract no longer lists.
  const notAccepted = old.includes(nothing) ? missing(old, now).map((one) => `\`${one}\``) : []
  if (notAccepted.length > 0) return { impact: 'major', message: `No longer taken: ${notAccepted.join(', ')}.` }
  const gained = missing(now, old).map((one) => `\`${one}\``)
  return { impact: 'minor', message: `Now sufficient, too: ${gained.join(', ')}.` }
}

const nothing = 'no credentials'

function satisfies(given: unknown, wanted: unknown): boolean {
  const schemes = String(given).split(' and ')
  return (
    wanted === nothing ||
    String(wanted)
      .split(' and ')
      .every((scheme) => schemes.includes(scheme))
  )
}

/** The order decides on positional arguments and constructors, and on which media type or server clients use. */
function ofOrder(change: Change): Ruling {
  const { was, is } = change
  const [before, after] = [listOf(was?.value), listOf(is?.value)].map((all) => all.map(String))
  const of = (is ?? was)?.of ?? ''
  const [old = [], now = []] = [before, after]
  const shown = (all: string[]) => all.map((name) => `\`${plain(name, of)}\``).join(', ')
  if (of === 'content' || of === 'servers') {
    if (old[0] === now[0] || !now.includes(old[0] ?? '')) return 'covered'
    const noun = of === 'content' ? 'media type' : 'server'
    return {
      impact: 'major',
      message: `The first ${noun}, which generated clients take, was ${shown(old.slice(0, 1))} and is ${shown(now.slice(0, 1))}.`,
    }
  }
  if (of === 'steps') return { impact: 'minor', message: 'The steps are in another order.' }
  const [kept, keeps] = [old.filter((name) => now.includes(name)), now.filter((name) => old.includes(name))]
  const noun = { parameters: 'arguments', properties: 'fields', enum: 'values' }[of] ?? 'alternatives'
  if (kept.join('\n') !== keeps.join('\n')) {
    if (!['parameters', 'properties', 'oneOf', 'anyOf', 'enum'].includes(of)) return 'covered'
    const whose = of === 'enum' ? ' openapi-generator numbers them by it for Java, Kotlin and Rust.' : ''
    return {
      impact: 'major',
      message: `The ${noun} are in another order: ${shown(kept)} are now ${shown(keeps)}.${whose}`,
    }
  }
  if (!['parameters', 'properties', 'enum'].includes(of)) return 'covered'
  const early = earlyIn(old, now)
  const next = now.find(
    (name, index) => old.includes(name) && now.slice(0, index).some((other) => early.includes(other)),
  )
  if (early.length === 0) return 'covered'
  return {
    impact: 'major',
    message: `${shown(early)} is new before \`${plain(next ?? '', of)}\`: positional ${noun} move.`,
  }
}

/** New names that come before old ones. Renamed ones are reported separately. */
function earlyIn<Name>(old: Name[], now: Name[]): Name[] {
  const early = now.filter(
    (name, index) => !old.includes(name) && now.slice(index).some((other) => old.includes(other)),
  )
  return early.length > missing(old, now).length ? early : []
}

function isEarly({ is, before, after }: Change): boolean {
  const order = keyOf([...(is?.steps.slice(0, -1) ?? []), '(order)'])
  return earlyIn(listOf(before.get(order)?.value), listOf(after.get(order)?.value)).includes(is?.steps.at(-1))
}

/** A parameter's name. The key of a path parameter is its position, so its name comes from its place. */
function argument({ steps, place }: Fact): string {
  const name = plain(steps.at(-1) ?? '', 'parameters')
  return name.startsWith('path ') ? (place.at(-1) ?? name) : name
}

function plain(name: string, of: string): string {
  return of === 'parameters' ? name.replace(/^(query|header|cookie) /, '') : name
}

function ofAlternative({ was, directions }: Change): Impact {
  return by(was ? 'narrower' : 'wider', directions)
}

function ofName(was: Fact, is: Fact): Verdict {
  const [before, after] = [key(was), key(is)]
  const isHeader = was.of === 'properties' && was.steps.at(-3) === 'headers'
  const isSame = isHeader && before.toLowerCase() === after.toLowerCase()
  const isStep = was.steps[0] === 'workflows' && was.steps.length > 2 && was.steps[2] !== 'inputs'
  const noun = was.of === 'types' ? 'The type ' : ''
  return { impact: isSame || isStep ? 'minor' : 'major', message: `${noun}${renaming(was, is)}` }
}

/**
 * Some generators name code after components: oapi-codegen has a type for each schema, response, parameter and body,
 * openapi-typescript an entry for each, including headers, and ogen only for schemas. The others generate the same code
 * without the component.
 */
function ofComponent(was: Fact | undefined, is: Fact | undefined): Verdict {
  const fact = (is ?? was) as Fact
  const named = fact.steps.includes('headers') && fact.of === 'parameter' ? '' : 'oapi-codegen and '
  const message =
    was && is
      ? `The component \`${was.value}\` is now \`${is.value}\`: ${named}openapi-typescript name code after it.`
      : `The component \`${fact.value}\` is ${is ? 'now used' : 'no longer used'} here: ${named}openapi-typescript name code after it.`
  return { impact: was || ['schema', 'response'].includes(fact.of) ? 'major' : 'minor', message }
}

const inWords = [
  'description',
  'summary',
  'externalDocs',
  'x-codeSamples',
  'x-summary',
  'because',
  'meaning',
  'remedy',
  '$comment',
]

/** Fields whose names are chosen by authors: a header `summary` or a type `examples` is not a keyword. */
const namedByAuthors = [
  ...['properties', 'patternProperties', 'dependentSchemas', 'oneOf', 'anyOf', 'allOf', 'types', 'schemas', '$defs'],
  ...['parameters', 'headers', 'responses', 'content', 'messages', 'callbacks', 'webhooks', 'links', 'encoding'],
  ...['credentials', 'scopes', 'servers', 'variables', 'workflows', 'steps', 'outputs'],
]

/** True if authors choose the name that is the last step. For an object of unknown kind, its own name decides. */
function isNamed({ steps, of }: Pick<Fact, 'steps' | 'of'>): boolean {
  return namedByAuthors.includes(of === 'any' ? (steps.at(-2) ?? '') : of)
}

/** The position of the step that holds examples; -1 if the fact is not within examples. */
function examplesAround(steps: string[], { before, after }: Change): number {
  return steps.findIndex((name, index) => {
    if (!inExamples.includes(name)) return false
    const key = keyOf(steps.slice(0, index + 1))
    const fact = after.get(key) ?? before.get(key)
    return fact !== undefined && holdExamples.includes(fact.of) && !isNamed(fact)
  })
}

const inExamples = ['example', 'examples']
const holdExamples = ['parameter', 'media', 'schema', 'message', 'any']

function isWords(fact: Fact, change: Change): boolean {
  const { steps, of } = fact
  if (examplesAround(steps, change) >= 0) return true
  if (isNamed(fact)) return false
  const name = steps.at(-1) ?? ''
  if (inWords.includes(name)) return true
  if (steps[0] === 'tags' || (steps[0] === 'info' && name !== 'title')) return true
  return name === 'title' && of !== 'schema' && of !== 'info' && change.is !== undefined
}

function ofWords(change: Change): Verdict {
  const { was, is } = change
  const fact = (is ?? was) as Fact
  const index = examplesAround(fact.steps, change)
  if (index >= 0)
    return { impact: 'patch', message: `The examples of ${quoted(shownIn(fact, index - fact.steps.length))} changed.` }
  if (typeof (was ?? is)?.value !== 'string') return { impact: 'patch', message: sentence(change) }
  const words: [string, string] = [String(was?.value ?? ''), String(is?.value ?? '')]
  return { impact: 'patch', message: `\`${key(fact)}\` of ${ownerOf(fact)} was reworded.`, words }
}

/** True for an operation's error texts, as `errorTextsOf` defines them. Other examples of errors only illustrate. */
function isComparedAsText({ steps, at }: Fact, change: Change): boolean {
  const { before, after } = change
  const index = steps.indexOf('responses')
  if (index !== 1 || !/^[45]/.test(steps[2] ?? '')) return false
  const examples = examplesAround(steps, change)
  if (examples > 0 && (steps.length === examples + 2 || steps.at(-1) === 'error')) {
    const all = [before, after].flatMap((facts) => within(facts, steps.slice(0, examples + 1)))
    return isListed(at) || !(at.startsWith('#/components/') || all.some((one) => isListed(one.at)))
  }
  if (examples > 0) return steps.length < examples + 2
  return steps.at(-1) === 'enum' && steps.at(-2) === 'error'
}

const isListed = (at: string) => at.startsWith('#/components/examples/')

function conditionAround(steps: string[], { before, after }: Change): boolean {
  return steps.some((name, index) => {
    const fact = after.get(keyOf(steps.slice(0, index + 1))) ?? before.get(keyOf(steps.slice(0, index + 1)))
    return fact?.of === 'schema' && conditions.includes(name)
  })
}

const conditions = ['if', 'then', 'else', 'not', 'dependentSchemas', 'dependentRequired', 'contains', 'propertyNames']
