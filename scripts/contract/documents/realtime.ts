import asyncapi from '../../../generated/asyncapi.json' with { type: 'json' }

interface Message {
  title: string
  summary: string
  description?: string
  payload: object
  examples: { name: string; summary?: string; payload: object }[]
}

const messageNamed: Record<string, Message> = asyncapi.components.messages
const opening = 'Opening the channel'

/**
 * The channel for Redoc, as an OpenAPI document of webhooks: a tag for each direction, an event for each message. So both
 * contracts look alike. AsyncAPI's own renderers evaluate strings as code, which the page's policy blocks.
 */
export function realtimeReference(): object {
  const { info, channels, operations, components } = asyncapi
  const { query, headers } = channels.realtime.bindings.ws
  return {
    openapi: '3.1.0',
    info: { ...info, description: `${info.description}\n${closeCodes()}` },
    tags: [
      {
        name: opening,
        description:
          'The upgrade of `GET /api/v1/sync/realtime`; the [HTTP reference](./#operation/openRealtime) has its answers.',
      },
      ...Object.values(operations).map(({ title, summary }) => ({ name: title, description: summary })),
    ],
    paths: {
      '/api/v1/sync/realtime': {
        get: {
          operationId: 'openRealtime',
          tags: [opening],
          summary: 'Open the channel',
          parameters: [...parameters('query', query), ...parameters('header', headers)],
          responses: { '101': { description: 'Switching protocols.' } },
        },
      },
    },
    webhooks: Object.fromEntries(
      Object.values(operations).flatMap(({ title, action, messages }) =>
        messages.map(({ $ref }) => {
          const name = $ref.split('/').at(-1) ?? ''
          return [`${action} ${name}`, { post: event(name, title, messageNamed[name] as Message) }]
        }),
      ),
    ),
    components: { schemas: components.schemas },
  }
}

function closeCodes(): string {
  const codes = Object.values(asyncapi.channels.realtime['x-close-codes'])
  const rows = codes.map(({ code, meaning, remedy }) => `| ${code} | ${meaning} | ${remedy} |\n`)
  return `| close code | meaning | what to do |\n|---|---|---|\n${rows.join('')}`
}

function parameters(place: string, { properties }: { properties: object }): object[] {
  return Object.entries(properties).map(([name, { description, ...schema }]: [string, { description?: string }]) => ({
    name,
    in: place,
    description,
    schema,
  }))
}

function event(name: string, tag: string, { title, summary, description, payload, examples }: Message): object {
  return {
    operationId: name,
    tags: [tag],
    summary: `${name}: ${title.toLowerCase()}`,
    description: [summary, description].filter(Boolean).join('\n\n'),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: payload,
          examples: Object.fromEntries(examples.map(({ name, summary, payload: value }) => [name, { summary, value }])),
        },
      },
    },
  }
}
