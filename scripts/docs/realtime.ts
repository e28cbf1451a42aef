import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }

interface Message {
  name: string
  title: string
  summary: string
  description?: string
  payload: FieldSchema
  examples: { summary?: string; payload: object }[]
}

interface FieldSchema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  description?: string
  items?: FieldSchema
  properties?: Record<string, FieldSchema>
  required?: string[]
  if?: { properties: { operation: { enum: string[] } } }
  then?: { required: string[] }
}

const messageNamed: Record<string, Message> = asyncapi.components.messages
const schemaNamed: Record<string, FieldSchema> = asyncapi.components.schemas
const channel = asyncapi.channels.realtime

/** The page about the realtime channel. Its links are relative to asyncapi.yaml. */
export function realtimePage(connectSample: string): string {
  const { sendEvents, receiveChanges } = asyncapi.operations
  const { query, headers } = channel.bindings.ws
  const codes = Object.values(channel['x-close-codes'])
  return `# The realtime channel

${asyncapi.info.description}

## Connect

A socket is a \`GET\` of \`${channel.address}\` that is upgraded ([openRealtime](openapi.yaml#operation/openRealtime) has the
answers to one that is not). The session cookie goes with it. The ids of the user and the device are required, either in the
query, as browsers have to send them, or as headers.

\`\`\`ts
${connectSample.replace(/\nexport \{\}\n$/, '')}
\`\`\`

### Query and headers

${fieldTable({ ...query, required: ['user_id', 'device_id'] }, headers)}
${direction('server', sendEvents)}
${direction('client', receiveChanges)}
## Close codes

The server closes a socket with one of these codes. After any other end, also 1006 (the connection broke), connect again with
\`since\`. Wait longer before each attempt, up to a minute or so.

| Code | Meaning | What a client does |
|---|---|---|
${codes.map(({ code, meaning, remedy }) => `| ${code} | ${meaning} | ${remedy} |\n`).join('')}`
}

type Direction = (typeof asyncapi.operations)['sendEvents' | 'receiveChanges']

function direction(side: string, { title, summary, messages }: Direction): string {
  const sections = messages.map(({ $ref }) => {
    const name = $ref.split('/').at(-1) ?? ''
    return messageSection(`${side}-${name}`, messageNamed[name] as Message)
  })
  return `## ${title}\n\n${summary}\n\n${sections.join('\n')}`
}

function messageSection(id: string, { name, title, summary, description, payload, examples }: Message): string {
  const samples = examples.map(({ summary, payload }) => {
    const caption = summary ? `${summary}:\n\n` : ''
    return `${caption}\`\`\`json\n${JSON.stringify(payload, null, 2)}\n\`\`\`\n`
  })
  const texts = [summary, description].filter(Boolean)
  return [`### \`${name}\` ${title} {#${id}}`, ...texts, fieldTable(payload), ...samples].join('\n\n')
}

function fieldTable(...objects: FieldSchema[]): string {
  return `| Field | Type | Meaning |\n|---|---|---|\n${objects.flatMap((object) => fieldRows(object)).join('')}`
}

/** The fields of an object. Those of inner objects are named like `event.id`, those of list elements `list[].field`. */
function fieldRows(schema: FieldSchema, prefix = ''): string[] {
  const object = resolved(schema)
  return Object.entries(object.properties ?? {}).flatMap(([name, property]) => {
    const field = resolved(property)
    const required = requirement(object, name)
    const mark = required ? ` **${required}**` : ''
    return [
      `| \`${prefix}${name}\`${mark} | ${typeOf(field)} | ${(field.description ?? '').trim().replaceAll(/\s+/g, ' ')} |\n`,
      ...fieldRows(field, `${prefix}${name}.`),
      ...(field.items ? fieldRows(field.items, `${prefix}${name}[].`) : []),
    ]
  })
}

/** Follows a `$ref`. A description next to it takes precedence over the target's. */
function resolved({ $ref, ...own }: FieldSchema): FieldSchema {
  return $ref ? { ...schemaNamed[$ref.split('/').at(-1) ?? ''], ...own } : own
}

function requirement({ required = [], if: condition, then }: FieldSchema, name: string): string {
  if (required.includes(name)) return 'required'
  if (!condition || !then?.required.includes(name)) return ''
  return `required to ${condition.properties.operation.enum.join(' or ')}`
}

function typeOf({ type, enum: values, items }: FieldSchema): string {
  if (values) return values.map((value) => (value === null ? 'null' : `"${value}"`)).join(' or ')
  if (items) return `list of ${typeOf(resolved(items))}s`
  return [type ?? 'any'].flat().join(' or ')
}
