const pages = {
  'index.html': 'HTTP',
  'realtime.html': 'Realtime',
  'operating.html': 'Operating',
  'changelog.html': 'Changelog',
}

/** Redoc adds styles by script and searches in a worker. Everything else comes from the page's own folder. */
const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; worker-src blob:; base-uri 'none'; form-action 'none'"
const textPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"

/** `NAME.json`, shown by Redoc: a contract, offered for download as `NAME.yaml`, or guides. */
export function referencePage(title: string, name: string): string {
  const scripts = `<script defer src="redoc.standalone.js"></script>\n<script defer src="reference.js"></script>\n`
  return page(title, referencePolicy, `<div id="reference" data-contract="${name}"></div>`, scripts)
}

export function changelogPage(changelog: string): string {
  return page('Changelog', textPolicy, `<main>\n<h1>Changelog of the contract</h1>\n${changelog}\n</main>`)
}

/** All URLs are relative, so that the folder works under any path. The page contains its policy: a static host sends none. */
function page(title: string, policy: string, content: string, scripts = ''): string {
  const links = Object.entries(pages).map(([file, name]) =>
    name === title ? `<a href="${file}" aria-current="page">${name}</a>` : `<a href="${file}">${name}</a>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Encrypted Bookmark Sync</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs.css">
${scripts}</head>
<body>
<nav class="pages"><strong>Encrypted Bookmark Sync</strong> ${links.join(' ')}</nav>
${content}
</body>
</html>
`
}
