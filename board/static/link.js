// The connection to the server: requests with their answers. Comes back by itself when it is lost.

import { serverText } from "./i18n.js";

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 4000;

export class Link {
  // on: {open(), welcome(message), closed(reason, refused), said(message)}; `said` gets what belongs to no request.
  constructor(token, on) {
    this.query = new URLSearchParams({ token });
    this.on = on;
    this.open = false;
    this.nextId = 1;
    this.waiting = new Map(); // id -> {message, resolve, reject} of requests with one answer
    this.listening = new Map(); // id -> function of requests with many
    this.wait = FIRST_WAIT_MS;
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    const socket = new WebSocket(`ws://${location.host}/socket?${this.query}`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.open = true;
      this.wait = FIRST_WAIT_MS;
      for (const { message } of this.waiting.values()) socket.send(message); // they never change anything
      this.on.open();
    });
    socket.addEventListener("message", (event) => this.hear(JSON.parse(event.data)));
    socket.addEventListener("close", async (event) => {
      if (this.socket !== socket) return;
      const opened = this.open;
      this.open = false;
      this.listening.clear();
      const refused = !opened && (await this.refused());
      if (this.socket !== socket) return;
      this.on.closed(event.reason, refused);
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(LONGEST_WAIT_MS, 2 * this.wait);
    });
  }

  // Whether the server is there but does not know the token; a browser does not tell why a socket failed.
  async refused() {
    try {
      return (await fetch(`/access?${this.query}`)).status === 403;
    } catch {
      return false;
    }
  }

  leave() {
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = null;
    this.open = false;
    this.listening.clear();
    socket?.close();
  }

  hear(message) {
    if (message.type === "welcome") this.on.welcome(message);
    const asked = this.waiting.get(message.id);
    if (asked) {
      this.waiting.delete(message.id);
      if (message.type === "refused") asked.reject(new Error(serverText(message)));
      else asked.resolve(message);
      return;
    }
    const listener = this.listening.get(message.id);
    if (listener) listener(message);
    else this.on.said(message);
  }

  // Resolves with the one answer; is asked again after a lost connection.
  ask(type, fields) {
    const id = this.nextId++;
    const message = JSON.stringify({ type, id, ...fields });
    if (this.open) this.socket.send(message);
    return new Promise((resolve, reject) => this.waiting.set(id, { message, resolve, reject }));
  }

  // Hears every answer until another `listen` or `tell`.
  listen(type, fields, hear) {
    if (!this.open) return;
    const id = this.nextId++;
    this.listening.clear();
    this.listening.set(id, hear);
    this.socket.send(JSON.stringify({ type, id, ...fields }));
  }

  tell(type, fields) {
    if (!this.open) return;
    if (type === "stop") this.listening.clear();
    this.socket.send(JSON.stringify({ type, id: this.nextId++, ...fields }));
  }
}
