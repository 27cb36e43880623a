// What the engine of this page does now: one thing at a time, the newest wish.

export class Engine {
  constructor(link) {
    this.link = link;
    this.job = null;
    this.net = "";
    this.stalled = false; // it has failed, and nobody has asked for it again
  }

  // job: {key, type, fields, hear(message)}, or null to rest. A job with the key of the running one changes nothing.
  want(job) {
    if ((job?.key ?? null) === (this.job?.key ?? null)) return;
    if (job) this.stalled = false;
    const before = this.job;
    this.job = job;
    if (job) this.send(job);
    else if (before) this.link.tell("stop", {});
  }

  send(job) {
    this.link.listen(job.type, job.fields, (message) => {
      if (this.job === job) job.hear(message);
      else if (message.type === "lost") this.link.on.said(message); // after its last answer
    });
  }

  // After a new connection the running job is asked again from its beginning.
  resume() {
    if (this.job) this.send(this.job);
  }

  // The running job has got its answer, or will get none.
  forget() {
    this.job = null;
  }
}
