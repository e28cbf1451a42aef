/** Lets the browser keep the page itself, so that it opens without a network. Without that it works as well. */
export function keepForOffline(): void {
  navigator.serviceWorker?.register('/service-worker.js').catch(() => {})
}
