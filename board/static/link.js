// The connection to the server: requests with their answers. Comes back by itself when it is lost.

import { serverText } from "./i18n.js";

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 4000;

export class Link {
  // on: {open(), welcome(message), closed(), said(message)}; `said` gets what belongs to no request.
  constructor(url, on) {
    this.url = url;
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
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.open = true;
      this.wait = FIRST_WAIT_MS;
      for (const { message } of this.waiting.values()) socket.send(message); // they never change anything
      this.on.open();
    });
    socket.addEventListener("message", (event) => this.hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.open = false;
      this.listening.clear();
      this.on.closed(event.reason);
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(LONGEST_WAIT_MS, 2 * this.wait);
    });
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
