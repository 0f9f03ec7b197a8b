// The files of a device, in memory. Paths are relative to the app's data folder; slashes at either end do not count.

const clean = (path) => path.split('/').filter(Boolean).join('/');
const inside = (folder, path) => folder === '' || path === folder || path.startsWith(`${folder}/`);

export class Files {
  // Bytes of a file, null for a folder.
  #entries = new Map([['', null]]);

  isFile(path) {
    return Boolean(this.#entries.get(clean(path)));
  }

  isFolder(path) {
    return this.#entries.get(clean(path)) === null;
  }

  /** The bytes of a file, or undefined. */
  read(path) {
    return this.#entries.get(clean(path)) ?? undefined;
  }

  write(path, bytes) {
    const name = clean(path);
    this.makeFolder(name.split('/').slice(0, -1).join('/'));
    this.#entries.set(name, Buffer.from(bytes));
  }

  makeFolder(path) {
    const parts = clean(path).split('/');
    parts.forEach((_, index) => this.#entries.set(parts.slice(0, index + 1).join('/'), null));
  }

  remove(path) {
    for (const name of [...this.#entries.keys()]) if (inside(clean(path), name)) this.#entries.delete(name);
  }

  copy(from, to) {
    for (const [name, bytes] of [...this.#entries]) {
      if (!inside(clean(from), name)) continue;
      const target = `${to}/${name.slice(clean(from).length)}`;
      if (bytes) this.write(target, bytes);
      else this.makeFolder(target);
    }
  }

  /** The names in a folder. */
  list(path) {
    const names = [...this.#entries.keys()].filter((name) => name !== '' && clean(name.split('/').slice(0, -1).join('/')) === clean(path));
    return names.map((name) => name.split('/').at(-1));
  }

  /** The files below a folder, by their path in it. */
  below(path) {
    const folder = clean(path);
    const found = [...this.#entries].filter(([name, bytes]) => bytes && inside(folder, name));
    return new Map(found.map(([name, bytes]) => [clean(name.slice(folder.length)), bytes]));
  }
}
