/** Acts in the page as a person. Finds elements by names of fields and classes, which all languages share. */
import type { FrameLocator, Page } from 'playwright-core'

export const passphrase = 'tinsel walrus oboe fjord'

/** Signs in, which leads from the first page to the page with the vault. */
export async function goToVault(page: Page): Promise<void> {
  await page.click('form [type=submit]')
  await page.waitForURL(/\/sign-in\//)
  await page.locator('input:not([type=hidden])').first().fill('Ada')
  await page.keyboard.press('Enter')
  await page.locator('.signed-in-as').waitFor()
}

/** Makes a vault, which leads to the recovery code. */
export async function choosePassphrase(page: Page): Promise<void> {
  for (const name of ['passphrase', 'repeated']) await page.fill(`[name=${name}]`, passphrase)
  await page.click('form [type=submit]')
  await page.locator('#recovery-code').waitFor()
}

/** Confirms that the recovery code is on paper, and waits for the bookmarks. */
export async function confirmCode(page: Page): Promise<void> {
  await page.click('.button.primary')
  await upToDate(page)
}

export async function openVault(device: Page | FrameLocator): Promise<void> {
  await device.locator('[name=secret]').fill(passphrase)
  await device.locator('form [type=submit]').click()
  await upToDate(device)
}

export async function goTo(page: Page, view: string): Promise<void> {
  await page.evaluate((view) => {
    location.hash = `#/${view}`
  }, view)
}

export async function importBookmarks(page: Page, file: string): Promise<void> {
  await goTo(page, 'settings')
  const upload = { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) }
  await page.setInputFiles('input[type="file"]:not([accept])', upload)
  await page.locator('.report').waitFor()
}

/** Waits until the device is online and everything is sent. */
export async function upToDate(device: Page | FrameLocator): Promise<void> {
  await device.locator('#status[data-state=online][data-waiting="0"]').waitFor()
}
