import { styleText } from 'node:util'

interface Running {
  version: string
  environment: string
  publicUrl: string
  /** Whether the web page is there. */
  serveDemo: boolean
  /** Undefined for the provider of development, which takes any name. */
  identityProvider: object | undefined
  adminHost: string
  adminPort: number | undefined
  dataDir: string
}

/** What a person who has started the service reads: where the web page is, then the rest. */
export function banner(service: Running): string {
  const { version, environment, publicUrl, adminHost, adminPort, dataDir } = service
  return [
    '',
    ...wayIn(service),
    '',
    `  documents  ${publicUrl}/docs`,
    ...(adminPort === undefined ? [] : [`  metrics    port ${adminPort} on ${adminHost}`]),
    `  data       ${dataDir}`,
    '',
    `encrypted-bookmark-sync ${version} (${environment}). Ctrl-C stops it.`,
  ].join('\n')
}

function wayIn({ serveDemo, identityProvider, publicUrl }: Running): string[] {
  if (serveDemo) {
    const sign = identityProvider ? 'sign in' : 'sign in with any name'
    return [`Your bookmarks: ${bold(publicUrl)}`, `Open this page in a browser, and ${sign}.`]
  }
  const enter = identityProvider ? 'sign in there' : 'enter any name there'
  return [
    `The service: ${bold(publicUrl)}, without a web page.`,
    `To sign in: POST ${publicUrl}/api/v1/auth/login, open the returned authorizationUrl, and ${enter}.`,
  ]
}

function bold(text: string): string {
  return styleText('bold', text)
}
