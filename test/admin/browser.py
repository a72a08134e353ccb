#!/usr/bin/env python3
# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)
"""Looks at the page of weir::admin with a real browser.

usage: browser.py SERVER [SCREENSHOT_DIRECTORY]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 60  # seconds

# The contrast of every text that can be seen with what is behind it, as WCAG counts it.
CONTRAST = """
const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const light = c => { const [r, g, b] = c.map(v => { v /= 255;
  return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const bad = [];
for (const e of document.querySelectorAll('body *')) {
  if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
  let back = null;
  for (let b = e; b && !back; b = b.parentElement) {
    const c = parse(getComputedStyle(b).backgroundColor);
    if (c.length == 3 || c[3] > 0) back = c;
  }
  const x = light(parse(getComputedStyle(e).color)), y = light(back || [255, 255, 255]);
  const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  if (ratio < 4.5) bad.push(e.tagName + ' ' + e.textContent.slice(0, 30) + ' ' + ratio.toFixed(2));
}
return bad;
"""

failures = []


def check(holds, what):
    print("ok:" if holds else "FAILED:", what, flush=True)
    if not holds:
        failures.append(what)


def start(server, *arguments):
    process = subprocess.Popen(
        [server, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, f"http://127.0.0.1:{int(process.stdout.readline())}/"


def stop(process):
    process.stdin.close()
    process.wait(PATIENCE)


def open_browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",  # which root may not have
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def look(browser, url, pictures):
    def until(condition, what):
        try:
            WebDriverWait(browser, PATIENCE, poll_frequency=0.1).until(lambda _: condition())
            check(True, what)
        except Exception as error:  # the log has to say which wait it was
            check(False, f"{what}: {type(error).__name__}")

    def script(text):
        return browser.execute_script(text)

    def rows():
        return script("return document.querySelectorAll('#tasks tbody tr').length")

    def column(index):
        return script(
            "return [...document.querySelectorAll('#tasks tbody tr')]"
            f".map(r => r.children[{index}].textContent)"
        )

    browser.get(url)
    until(lambda: script("return document.getElementById('state').textContent") == "live",
          "the page says that it is live")
    until(lambda: rows() >= 6, "the tasks are listed")
    points = "return document.querySelector('.plot polyline').getAttribute('points')"
    before = script(points)
    until(lambda: script(points) != before, "the plots go on")

    texts = script("return document.body.textContent")
    check("<img src=x onerror=alert(1)>" in texts, "a hostile name of a pool is text")
    check("<script>document.title='broken'</script>" in texts, "a hostile user is text")
    check(browser.title == "weir", "and was not run")
    check(script("return document.querySelectorAll('img').length") == 0, "and is no element")

    box = browser.find_element(By.ID, "search")
    box.send_keys("hostile")
    until(lambda: rows() == 1 and column(0) == ["hostile"], "the search filters")
    box.clear()
    box.send_keys(Keys.SPACE, Keys.BACKSPACE)
    until(lambda: rows() > 1, "and lets go")
    browser.find_element(By.ID, "pause").send_keys(Keys.SPACE)
    check(browser.find_element(By.ID, "pause").get_attribute("aria-pressed") == "true",
          "the table can be held by keyboard")
    user = browser.find_element(By.CSS_SELECTOR, "th[data-key=user]")
    user.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    check(user.get_attribute("aria-sort") == "ascending", "a sorted column says so")
    users = script("return rows.slice(0, document.querySelectorAll('#tasks tbody tr').length)"
                   ".map(r => r.children[1].textContent)")
    check(users == sorted(users), "the keyboard sorts")
    user.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    check(user.get_attribute("aria-sort") == "descending", "and the other way round")
    check(column(1) == users[::-1] or column(1) == sorted(users, reverse=True), "as it says")
    browser.find_element(By.ID, "pause").send_keys(Keys.SPACE)

    for name, scheme, width in (("light", "light", 1200), ("dark", "dark", 1200),
                                ("phone", "light", 360), ("phone-dark", "dark", 360)):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": 800, "deviceScaleFactor": 1,
                                 "mobile": False})
        until(lambda: script("return innerWidth") == width, f"{name}: {width} px")
        check(script("return document.documentElement.scrollWidth") <= width,
              f"{name}: nothing sticks out")
        low = script(CONTRAST)
        check(not low, f"{name}: every text can be read {low}")
        if pictures:
            import base64
            shot = browser.execute_cdp_cmd(
                "Page.captureScreenshot", {"captureBeyondViewport": True})
            (pictures / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def main():
    server = sys.argv[1]
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    process, url = start(server)
    with tempfile.TemporaryDirectory() as profile:
        browser = open_browser(profile)
        try:
            look(browser, url, pictures)
            with urllib.request.urlopen(url + "tasks?format=json", timeout=PATIENCE) as answer:
                check(len(json.load(answer)["pools"]) == 2, "/tasks is JSON")
            complaints = [e["message"] for e in browser.get_log("browser")]
            check(not complaints, f"the console is silent {complaints}")
            stop(process)
            WebDriverWait(browser, PATIENCE).until(
                lambda b: b.find_element(By.ID, "state").text.startswith(("reconnecting", "lost")))
            check(True, "the page says that the server has gone")
        finally:
            browser.quit()
            if process.poll() is None:
                stop(process)
    process, url = start(server, "locked")
    try:
        urllib.request.urlopen(url + "tasks", timeout=PATIENCE)
        check(False, "who is not authorized gets 401")
    except urllib.error.HTTPError as error:
        check(error.code == 401 and "Basic" in error.headers["WWW-Authenticate"],
              "who is not authorized gets 401")
    stop(process)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
