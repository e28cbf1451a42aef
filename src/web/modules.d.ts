declare module 'lucide/dist/esm/icons/*.mjs' {
  const icon: readonly (readonly [tag: string, attributes: Record<string, string>])[]
  export default icon
}

declare module '*/en.ts?later' {
  export const enLater: import('./words/en.ts').LaterWords
}
