export function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

export function plainText(html: string): string {
  const text = html.replaceAll(/<\/?(?:span|code|a|strong|em)\b[^>]*>/g, '').replaceAll(/<[^>]*>/g, ' ')
  const entities = { '&#x27;': "'", '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' }
  return Object.entries(entities)
    .reduce((text, [entity, character]) => text.replaceAll(entity, character), text)
    .replaceAll(/\s+/g, ' ')
    .trim()
}
