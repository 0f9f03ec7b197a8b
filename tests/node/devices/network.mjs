// The network of a device: sends requests for the SDK and for the native part, and remembers them.

const turn = () => new Promise((resolve) => setImmediate(resolve));

export class Network {
  #pending = new Set();
  #sent = [];

  /** Sends a request and reads all of the response. */
  send(method, url, { headers = {}, body } = {}) {
    const exchange = this.#exchange(method, url, headers, body);
    this.#pending.add(exchange);
    const finish = () => this.#pending.delete(exchange);
    exchange.then(finish, finish);
    return exchange;
  }

  async #exchange(method, url, headers, body) {
    const response = await fetch(url, { method, headers, body });
    const bytes = Buffer.from(await response.arrayBuffer());
    this.#sent.push(`${method} ${new URL(url).pathname} ${response.status}`);
    return { status: response.status, headers: response.headers, bytes };
  }

  /** Downloads a bundle like Android: no compression, and a Content-Length that is true. */
  async download(url) {
    const { status, headers, bytes } = await this.send('GET', url, { headers: { 'Accept-Encoding': 'identity' } });
    if (status !== 200) throw new Error(`the download was answered ${status}: ${bytes}`);
    const length = headers.get('content-length');
    if (length !== String(bytes.length)) throw new Error(`received ${bytes.length} bytes, expected ${length ?? -1}`);
    if (headers.has('content-encoding')) throw new Error(`encoded as ${headers.get('content-encoding')}`);
    return bytes;
  }

  /** Waits until all requests are answered and nothing follows from the responses: SDKs do not wait for their reports. */
  async idle() {
    do {
      await Promise.allSettled(this.#pending);
      await turn();
    } while (this.#pending.size > 0);
  }

  /** The requests since the last call, as `METHOD PATH STATUS`. */
  takeSent() {
    return this.#sent.splice(0);
  }
}
