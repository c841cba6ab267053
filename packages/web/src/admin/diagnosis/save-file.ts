/** Gives a file to the browser to save, as a link with `download` would. @param name suggested file name */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file with the click.
  URL.revokeObjectURL(url);
}

/** The name that an answer gives its file. @param header Content-Disposition; null: there is none */
export function fileNameOf(header: string | null, otherwise: string): string {
  return /filename="([\w.-]+)"/.exec(header ?? '')?.[1] ?? otherwise;
}
