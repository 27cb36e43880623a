// Runs before the page is drawn, so that a chosen theme does not flash.
try {
  const { theme } = JSON.parse(localStorage.getItem("tengen.settings")) ?? {};
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // no settings yet
}
