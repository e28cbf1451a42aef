import { scenarios } from './scenarios.ts'

export function helpText(publicUrl: string): string {
  const names = Object.entries(scenarios).map(([name, { does }]) => `  ${name.padEnd(18)} ${does}`)
  return `The mock is at ${publicUrl}, until Ctrl-C. Any name signs in.

An app on another origin may call it if CORS_ORIGIN lists that: CORS_ORIGIN=http://localhost:5173 npm run mock

Send the header or the query parameter x-scenario with a request or a WebSocket:

${names.join('\n')}`
}
