import { styleText } from 'node:util'

interface Running {
  version: string
  environment: string
  publicUrl: string
  /** Allowed origins. */
  origins: ReadonlySet<string>
  /** True if the service serves the web page. */
  serveApp: boolean
  /** Undefined for the development provider, which only asks for a name. */
  identityProvider: object | undefined
  adminHost: string
  adminPort: number | undefined
  dataDir: string
}

/** The text for a person who has started the service: the web page's address first. */
export function banner(service: Running): string {
  const { version, environment, publicUrl, adminHost, adminPort, dataDir } = service
  return [
    '',
    ...firstSteps(service),
    '',
    `  documents  ${publicUrl}/docs`,
    ...(adminPort === undefined ? [] : [`  metrics    port ${adminPort} on ${adminHost}`]),
    `  data       ${dataDir}`,
    ...localhostWarning(service),
    '',
    `encrypted-bookmark-sync ${version} (${environment}). Ctrl-C stops it.`,
  ].join('\n')
}

function firstSteps({ serveApp, identityProvider, publicUrl }: Running): string[] {
  if (serveApp) {
    const sign = identityProvider ? 'sign in' : 'sign in with any name'
    return [`Your bookmarks: ${bold(publicUrl)}`, `Open this page in a browser, and ${sign}.`]
  }
  const enter = identityProvider ? 'sign in there' : 'enter any name there'
  return [
    `The service: ${bold(publicUrl)}, without a web page.`,
    `To sign in: POST ${publicUrl}/api/v1/auth/login, open the returned authorizationUrl, and ${enter}.`,
  ]
}

/** A warning for localhost and 127.0.0.1: browsers take them for two sites, and share no cookies. */
function localhostWarning({ publicUrl, origins }: Running): string[] {
  const { hostname } = new URL(publicUrl)
  const other = new Map([
    ['127.0.0.1', '//localhost:'],
    ['localhost', '//127.0.0.1:'],
  ]).get(hostname)
  if (other === undefined) return []
  return [...origins]
    .filter((origin) => origin.includes(other))
    .flatMap((origin) => [
      '',
      `Browsers take ${origin} for another site than ${publicUrl}: nobody can sign in there.`,
      `Open that app at ${origin.replace(other, `//${hostname}:`)}, and list this in CORS_ORIGIN.`,
    ])
}

function bold(text: string): string {
  return styleText('bold', text)
}
