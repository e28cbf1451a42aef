const style = `
  :root { color-scheme: light dark; font: 1.125rem/1.5 system-ui, sans-serif }
  body { display: grid; min-height: 90vh; place-content: center; margin: 1rem }
  main { width: min(22rem, 90vw) }
  h1 { font-size: 1.5rem }
  input, button { box-sizing: border-box; width: 100%; padding: .5rem; margin-top: .5rem; font: inherit }
  [role=alert] { font-weight: bold }
`

export function signInPage(fault?: string): string {
  const alert = fault === undefined ? '' : `<p id="fault" role="alert">${escaped(fault)}</p>`
  const described = fault === undefined ? 'hint' : 'fault hint'
  return document(
    'Sign in',
    `${alert}
<form method="post">
  <label for="name">Your name</label>
  <input id="name" name="name" required maxlength="64" autocomplete="username" autofocus aria-describedby="${described}">
  <button>Sign in</button>
</form>
<p id="hint">For development only: every name is an account, and no password is needed.</p>`,
  )
}

export function faultPage(fault: string): string {
  return document('Sign-in failed', `<p role="alert">${escaped(fault)}</p>`)
}

function document(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title} (development)</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
