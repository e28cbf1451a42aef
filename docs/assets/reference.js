// Redoc computes shades from its colours and so cannot use CSS variables: a change of scheme reloads the page.
const scheme = matchMedia('(prefers-color-scheme: dark)')
scheme.addEventListener('change', () => location.reload())

const element = document.getElementById('reference')
const name = element.dataset.contract
const isRealtime = name === 'asyncapi'
// Guides alone: there is nothing to download, and nothing for the panel on the right.
const isText = name === 'operating'
const dark = scheme.matches
const font = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
const mono = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'

const colors = dark
  ? {
      primary: { main: '#5b8def' },
      success: { main: '#5bd37a' },
      warning: { main: '#ffb84d' },
      error: { main: '#ff8a80' },
      gray: { 50: '#1c1f24', 100: '#22262c' },
      text: { primary: '#d9dce1', secondary: '#a3a9b3' },
      border: { dark: 'rgba(255,255,255,0.16)', light: '#2a2e35' },
      responses: {
        success: { tabTextColor: '#5bd37a' },
        error: { tabTextColor: '#ff8a80' },
        redirect: { color: '#ffb84d', tabTextColor: '#ffb84d' },
        info: { color: '#6cc3e0', tabTextColor: '#6cc3e0' },
      },
    }
  : {
      primary: { main: '#2f4fb3' },
      text: { primary: '#23272e', secondary: '#5a616c' },
      responses: { error: { tabTextColor: '#ff8a80' }, success: { tabTextColor: '#5bd37a' } },
    }

globalThis.Redoc.init(
  `${name}.json`,
  {
    downloadUrls: isText ? [] : [{ title: `${name}.yaml`, url: `${name}.yaml` }],
    hideDownloadButtons: isText,
    disableGoogleFont: true,
    hideHostname: true,
    expandResponses: '200,201,302',
    jsonSamplesExpandLevel: 4,
    schemasExpansionLevel: isRealtime ? 1 : 0,
    sortRequiredPropsFirst: true,
    labels: {
      downloadSpecification: 'The contract',
      ...(isRealtime && { requestSamples: 'Sample' }),
    },
    theme: {
      colors,
      typography: {
        fontSize: '15px',
        lineHeight: '1.6em',
        fontFamily: font,
        links: dark ? { color: '#8ab4ff' } : {},
        headings: { fontFamily: font, fontWeight: '600' },
        code: {
          fontFamily: mono,
          fontSize: '13px',
          wrap: false,
          color: dark ? '#f2a7b5' : '#9b1c3c',
          backgroundColor: dark ? 'rgba(255,255,255,0.08)' : 'rgba(38,50,56,0.06)',
        },
      },
      schema: dark ? { nestedBackground: '#1c1f24', linesColor: '#4a5a7a', typeNameColor: '#a3a9b3' } : {},
      sidebar: dark
        ? {
            backgroundColor: '#1c1f24',
            textColor: '#d9dce1',
            activeTextColor: '#8ab4ff',
            groupItems: { activeBackgroundColor: '#2a2e35' },
            level1Items: { activeBackgroundColor: '#2a2e35' },
          }
        : {},
      rightPanel: {
        ...(isText && { width: '0%' }),
        ...(dark && {
          backgroundColor: '#0f1114',
          servers: {
            overlay: { backgroundColor: '#22262c', textColor: '#d9dce1' },
            url: { backgroundColor: '#16181c' },
          },
        }),
      },
      codeBlock: dark ? { backgroundColor: '#1a1d22' } : {},
      fab: dark ? { backgroundColor: '#2a2e35', color: '#8ab4ff' } : {},
    },
  },
  element,
)
