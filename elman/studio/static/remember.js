/* Stores what the user typed and chose, in this browser: recall(name, otherwise), remember(name, value). */

const PREFIX = "elman-studio-";

export function recall(name, otherwise) {
  try {
    const kept = localStorage.getItem(PREFIX + name);
    return kept === null ? otherwise : JSON.parse(kept);
  } catch {
    return otherwise;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch { /* the browser does not allow storage */ }
}
