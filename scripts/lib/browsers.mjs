// Headless Chromium and Firefox for tests, with a WebGPU adapter in software and no traffic of their own.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Chromium flags: what a container needs, no background requests, WebGPU on SwiftShader. */
export const CHROMIUM_ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
];

/** Firefox preferences: WebGPU on the software driver of Mesa, no background requests. */
export const FIREFOX_PREFS = {
  "dom.webgpu.enabled": true,
  "gfx.webgpu.ignore-blocklist": true,
  "app.update.enabled": false,
  "browser.safebrowsing.update.enabled": false,
  "datareporting.healthreport.uploadEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
  "toolkit.telemetry.enabled": false,
};

const find = (variable, candidates) => {
  const found = process.env[variable] ?? candidates.find((path) => existsSync(path));
  if (!found) throw new Error(`no browser at ${candidates.join(" or ")}: set ${variable} or run node scripts/setup.mjs --tests`);
  return found;
};

/** A Playwright browser: Debian's Chromium. */
export async function launchChromium(options = {}) {
  const { chromium } = await import("playwright-core");
  const executablePath = find("CHROMIUM", ["/usr/bin/chromium", "/usr/bin/google-chrome"]);
  return chromium.launch({ executablePath, args: CHROMIUM_ARGS, timeout: 60_000, ...options });
}

/**
 * A Playwright persistent context with a profile directory of its own. Unlike `browser.newContext()`, which is a
 * private window, it stores files as an ordinary profile does. Closing it removes the profile.
 */
export async function launchChromiumProfile(options = {}) {
  const { chromium } = await import("playwright-core");
  const executablePath = find("CHROMIUM", ["/usr/bin/chromium", "/usr/bin/google-chrome"]);
  const profile = mkdtempSync(join(tmpdir(), "rangefind-chromium-"));
  const context = await chromium.launchPersistentContext(profile, { executablePath, args: CHROMIUM_ARGS, timeout: 60_000, ...options });
  const close = context.close.bind(context);
  context.close = async () => {
    await close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return context;
}

/** A Puppeteer browser: Debian's Firefox, over WebDriver BiDi. Its first start takes seconds. */
export async function launchFirefox(options = {}) {
  const { launch } = await import("puppeteer-core");
  const executablePath = find("FIREFOX", ["/usr/bin/firefox-esr", "/usr/bin/firefox"]);
  return launch({
    browser: "firefox",
    executablePath,
    headless: true,
    extraPrefsFirefox: FIREFOX_PREFS,
    timeout: 90_000,
    protocolTimeout: 600_000,
    ...options,
  });
}
