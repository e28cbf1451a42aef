/** `npm start`, in the bundle `node main.mjs`: `ebs serve`. */
process.argv.splice(2, 0, 'serve')
await import('./commands/ebs.ts')
