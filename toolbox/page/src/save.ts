// A file that the browser saves.

export function save(name: string, lines: string): void {
  saveFile(name, "jsonl", new Blob([lines], { type: "application/x-ndjson" }));
}

export function saveFile(name: string, ending: string, contents: Blob): void {
  const url = URL.createObjectURL(contents);
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}-${new Date().toISOString().replace(/[:.]/g, "-")}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
