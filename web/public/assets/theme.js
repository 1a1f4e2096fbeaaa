// SPDX-License-Identifier: Apache-2.0
// Sets the theme before the first paint. A classic script: it blocks rendering on purpose.
(function () {
  try {
    var theme = localStorage.getItem("athanor.theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch (_) {
    // Storage is switched off: the system's theme stays.
  }
})();
