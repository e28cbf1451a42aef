/** Imported before the service, which so ends when its input does: with the process that started it, however that ends. */
process.stdin.once('end', () => process.exit(1)).resume()
